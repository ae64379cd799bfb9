// What comes into being on a thread of its own, while its caller does other things.
#pragma once

#include <fmt/format.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "src/base/caught.hpp"
#include "src/base/signals_blocked.hpp"
#include "src/spi/status.hpp"
#include "src/spi/types.hpp"

namespace hocket::comm {

// Thread rule: any thread, except destruction.
template <class T>
class Background {
 public:
  using Made = Result<T>;

  // `make` blocks, and gives up soon after it is requested to stop. `what` it does is for messages: "create a
  // communicator". Code::out_of_resources where no thread is left.
  static Result<std::unique_ptr<Background>> start(std::string_view what, std::function<Made(std::stop_token)> make) {
    std::unique_ptr<Background> background(new Background());
    Background& own = *background;
    try {
      const SignalsBlocked signals_blocked;
      own.thread_ = std::jthread([&own, make = std::move(make)](std::stop_token stop) {
        Made made = made_by(make, std::move(stop));
        const std::lock_guard lock(own.mutex_);
        own.made_ = std::move(made);
        own.changed_.notify_all();
      });
    } catch (const std::system_error& error) {
      return Status(Code::out_of_resources, fmt::format("no thread could be started to {}: {}", what, error.what()));
    }
    return background;
  }
  // Gives up what is not finished, and waits until it has been given up.
  ~Background() = default;
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  bool finished() const {
    const std::lock_guard lock(mutex_);
    return made_.has_value();
  }
  // How it ended; requires finished().
  Status status() const {
    const std::lock_guard lock(mutex_);
    return made_->status();
  }
  // Ok when it has succeeded; Code::in_progress when the deadline passes first.
  Status wait(Deadline deadline) const {
    std::unique_lock lock(mutex_);
    if (changed_.wait_until(lock, deadline.at(), [&] { return made_.has_value(); })) return made_->status();
    return Status(Code::in_progress, "it is not complete yet");
  }
  // What was made. Requires that wait() returned ok.
  const T& value() const {
    const std::lock_guard lock(mutex_);
    return **made_;
  }
  // Hands it over, once. Code::invalid_argument the second time. Requires that wait() returned ok.
  Made take() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(taken_, true)) {
      return Status(Code::invalid_argument, "this creation has handed over its communicator already");
    }
    return std::move(*made_);
  }

 private:
  Background() = default;

  // No exception leaves a thread.
  static Made made_by(const std::function<Made(std::stop_token)>& make, std::stop_token stop) noexcept {
    try {
      return make(std::move(stop));
    } catch (...) {
      return caught.status();
    }
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::optional<Made> made_;  // guarded by mutex_
  bool taken_ = false;        // likewise
  std::jthread thread_;       // ends before the others go
};

}  // namespace hocket::comm
