// Creation: a communicator that comes into being on a thread of its own, while its caller does other things.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "src/comm/communicator.hpp"

namespace hocket::comm {

// Thread rule: any thread, except destruction.
class Creation {
 public:
  using Made = Result<std::unique_ptr<Communicator>>;

  // `make` blocks, and gives up soon after it is requested to stop. Code::out_of_resources where no thread is left.
  static Result<std::unique_ptr<Creation>> start(std::function<Made(std::stop_token)> make);
  // Gives up what is not finished, and waits until it has been given up.
  ~Creation() = default;

  bool finished() const;
  // How it ended; requires finished().
  Status status() const;
  // Ok when it has succeeded; Code::in_progress when the deadline passes first.
  Status wait(Deadline deadline) const;
  // Hands the communicator over, once; null where this rank gets none. Code::invalid_argument the second time. Requires
  // that wait() returned ok.
  Made take();

 private:
  Creation() = default;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::optional<Made> made_;  // guarded by mutex_
  bool busy_ = false;         // likewise
  std::jthread thread_;       // ends before the others go
};

}  // namespace hocket::comm
