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
  // A line for standard output or error, behind what has been relayed so far. It is taken even where there is no room.
  void put(bool to_error, std::string_view line);

  // From now on, what there is no room for is lost, so that ranks which are to end are not kept from it. Until then
  // they wait, as they would for the output itself.
  void discard() { discards_ = true; }
  bool discards() const { return discards_; }
  // Whether there is no room, in one output at least.
  bool full() const { return output_.full() || error_.full(); }
  // Listens to no rank meanwhile: what it says waits in its pipe. Discarding goes before.
  void pause(bool pauses) { pauses_ = pauses; }

  // Appends what relay() waits for.
  void watch(std::vector<pollfd>& watched) const;
  // Passes on what has been written so far: at most as much as a pipe can hold, so that a talkative rank keeps nobody
  // waiting. False, with the reason in errno, where an output takes nothing any more; then no rank is listened to.
  bool relay();
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
  bool read_once(Relay& relay);
  bool listens_to(const Relay& relay) const;
  bool flush();

  NoPipeSignal no_pipe_signal_;
  Outlet output_{STDOUT_FILENO}, error_{STDERR_FILENO};
  std::deque<Relay> relays_;
  std::size_t taken_ = 0;
  bool discards_ = false;
  bool pauses_ = false;
};

}  // namespace hocket::launch
