// A process through which a launch reaches one host: ssh, with an agent (launch_agent.hpp) at its other end.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/fd.hpp"
#include "src/spi/status.hpp"
#include "tools/launch_output.hpp"

namespace hocket::launch {

class Connection {
 public:
  // Starts `command`. Errors: those of start_process().
  static Result<Connection> start(const std::vector<std::string>& command);

  pid_t pid() const { return pid_; }
  // Appends what read() and flush() wait for.
  void watch(std::vector<pollfd>& watched) const;
  // Bytes for the agent; they go out as there is room.
  void tell(std::string_view bytes);
  void flush();
  // Whether all that it was told has gone out.
  bool idle() const { return to_->empty(); }
  // Passes on the whole lines that have come, at most about a megabyte of them.
  void read(const std::function<void(std::string_view line)>& take);
  // The process has ended; what it said may still be read.
  void ended(int wait_status) { wait_status_ = wait_status; }
  // It has ended, and all that it said has been read.
  bool finished() const { return wait_status_ && !from_; }
  // What it said last on its standard error, or else how it ended; without a full stop.
  std::string reason() const;
  std::optional<int> wait_status() const { return wait_status_; }

 private:
  Connection() = default;
  void read_errors();

  pid_t pid_ = -1;
  UniqueFd input_, from_, error_;
  std::optional<Outlet> to_;  // through input_
  std::string pending_;       // a line that has not ended
  std::string errors_;
  std::optional<int> wait_status_;
};

}  // namespace hocket::launch
