// A thread that looks after something while its owner waits for something else.
#pragma once

#include <functional>
#include <stop_token>
#include <thread>
#include <utility>

#include "src/base/sleep.hpp"
#include "src/spi/status.hpp"

namespace hocket::comm {

class Attendant {
 public:
  using Attend = std::function<void(const std::stop_token& over)>;

  // Calls `attend` on a thread of its own. What it throws because memory runs out ends it alone: its owner's deadline
  // is left. Code::out_of_resources where threads ran out.
  static Result<Attendant> start(Attend attend);
  // The destructor requests the stop, and waits until the function has returned.
  Attendant(Attendant&&) = default;
  Attendant& operator=(Attendant&&) = default;
  // Until the function has returned by itself.
  void wait() { thread_.join(); }

 private:
  explicit Attendant(std::jthread thread) : thread_(std::move(thread)) {}

  std::jthread thread_;
};

}  // namespace hocket::comm
