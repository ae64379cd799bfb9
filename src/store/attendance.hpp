// What other threads than the server's may ask about a store: how many clients are there, and whether it had to turn
// one away because the process has no descriptor left.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <stop_token>

#include "src/spi/status.hpp"
#include "src/spi/types.hpp"

namespace hocket::store {

class Attendance {
 public:
  void come();
  void leave();
  void starve(Status why);

  std::size_t clients() const;
  // Until there are none, and at least `welcomed` have been here. False: the deadline passed first, or `stop` was
  // requested.
  bool wait_until_none(Deadline deadline, std::size_t welcomed, const std::stop_token& stop) const;
  Status starved() const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  std::size_t clients_ = 0;
  std::size_t welcomed_ = 0;  // since the start
  Status starved_;
};

}  // namespace hocket::store
