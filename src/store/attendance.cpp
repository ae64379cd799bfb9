#include "src/store/attendance.hpp"

#include <utility>

namespace hocket::store {

void Attendance::come() {
  const std::lock_guard lock(mutex_);
  ++clients_;
  ++welcomed_;
}

void Attendance::leave() {
  const std::lock_guard lock(mutex_);
  --clients_;
  changed_.notify_all();
}

void Attendance::starve(Status why) {
  const std::lock_guard lock(mutex_);
  starved_ = std::move(why);
}

std::size_t Attendance::clients() const {
  const std::lock_guard lock(mutex_);
  return clients_;
}

bool Attendance::wait_until_none(Deadline deadline, std::size_t welcomed, const std::stop_token& stop) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, stop, deadline.at(), [&] { return clients_ == 0 && welcomed_ >= welcomed; });
}

Status Attendance::starved() const {
  const std::lock_guard lock(mutex_);
  return starved_;
}

}  // namespace hocket::store
