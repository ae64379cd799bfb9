// What the launch that an agent works for tells it, on its standard input.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "src/spi/status.hpp"
#include "src/spi/types.hpp"

namespace hocket::launch {

struct Order {
  enum class What {
    end,    // the ranks, by the signal `number`
    kill,   // the ranks
    pause,  // listening to the ranks
    go_on,  // listening
    lost,   // the launch has ended, or is out of reach
  };
  What what;
  int number = 0;
};

class AgentInput {
 public:
  // The launch counts as lost when it has said nothing for `silence`.
  AgentInput(int fd, std::chrono::milliseconds silence) : fd_(fd), silence_(silence) {}

  // Waits for the job, as decode() takes it. Errors: PEER_LOST.
  Result<std::string> job();
  // The next order that has come; it does not wait. `lost` comes once, as the last one.
  std::optional<Order> next();

  // For poll(2): -1 when the launch is lost.
  int fd() const { return lost_ ? -1 : fd_; }
  int wait_ms() const { return lost_ ? -1 : heard_.later(silence_).remaining_ms(); }

 private:
  // Whether something came.
  bool read_some();
  std::optional<std::string> take_line();

  const int fd_;
  const std::chrono::milliseconds silence_;
  std::string pending_;
  Deadline heard_ = Deadline::after({});  // when something came last
  bool closed_ = false;
  bool lost_ = false;
};

}  // namespace hocket::launch
