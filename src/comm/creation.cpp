#include "src/comm/creation.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "src/base/caught.hpp"
#include "src/base/signals_blocked.hpp"

namespace hocket::comm {
namespace {

// No exception leaves a thread.
Creation::Made made_by(const std::function<Creation::Made(std::stop_token)>& make, std::stop_token stop) noexcept {
  try {
    return make(std::move(stop));
  } catch (...) {
    return caught.status();
  }
}

}  // namespace

Result<std::unique_ptr<Creation>> Creation::start(std::function<Made(std::stop_token)> make) {
  std::unique_ptr<Creation> creation(new Creation());
  Creation& own = *creation;
  try {
    const SignalsBlocked signals_blocked;
    own.thread_ = std::jthread([&own, make = std::move(make)](std::stop_token stop) {
      Made made = made_by(make, std::move(stop));
      const std::lock_guard lock(own.mutex_);
      own.made_ = std::move(made);
      own.changed_.notify_all();
    });
  } catch (const std::system_error& error) {
    return Status(Code::out_of_resources,
                  fmt::format("no thread could be started to create a communicator: {}", error.what()));
  }
  return creation;
}

bool Creation::finished() const {
  const std::lock_guard lock(mutex_);
  return made_.has_value();
}

Status Creation::status() const {
  const std::lock_guard lock(mutex_);
  return made_->status();
}

Status Creation::wait(Deadline deadline) const {
  std::unique_lock lock(mutex_);
  if (changed_.wait_until(lock, deadline.at(), [&] { return made_.has_value(); })) return made_->status();
  return Status(Code::in_progress, "the communicator is not created yet");
}

Creation::Made Creation::take() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(busy_, true)) {
    return Status(Code::invalid_argument, "this creation has handed over its communicator already");
  }
  return std::move(*made_);
}

}  // namespace hocket::comm
