// What ranks say, on its way to this process's own output and error.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/fd.hpp"
#include "src/spi/status.hpp"
#include "tools/launch_lines.hpp"
#include "tools/launch_output.hpp"

namespace hocket::launch {

class Relays {
 public:
  // Makes a pipe whose lines go to standard output or error, each after `label`; *write_end is for the rank.
  Status add(const std::string& label, bool to_error, UniqueFd* write_end);
  // A line of the launcher's own, on standard error, behind what has been relayed so far.
  void say(std::string_view line);

  // Appends what relay() waits for. `discards`: what there is no room for is lost, so that ranks which are to end are
  // not kept from it; else they wait, as they would for the output itself.
  void watch(std::vector<pollfd>& watched, bool discards) const;
  // Passes on what has been written so far: at most as much as a pipe can hold, so that a talkative rank keeps nobody
  // waiting. False, with the reason in errno, where an output takes nothing any more; then no rank is listened to.
  bool relay(bool discards);
  // Adds the last lines, if they have no end of line yet.
  void finish();
  // Whether all that was read has been written.
  bool empty() const { return output_.empty() && error_.empty(); }
  // Grows with every byte that an output takes.
  std::size_t taken() const { return taken_; }

 private:
  struct Relay {
    UniqueFd from;
    Outlet* to;
    LineCutter lines;
  };

  // Whether something came.
  bool read_once(Relay& relay, bool discards);
  bool flush();

  NoPipeSignal no_pipe_signal_;
  Outlet output_{STDOUT_FILENO}, error_{STDERR_FILENO};
  std::deque<Relay> relays_;
  std::size_t taken_ = 0;
};

}  // namespace hocket::launch
