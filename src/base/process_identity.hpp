// Which process this is, told apart from every other one, on any host and at any time.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace hocket {

struct ProcessIdentity {
  pid_t process = 0;
  std::string started;  // at which tick of its kernel; tells it apart from a later process with the same number
  std::string kernel;   // the kernel's start and the namespace of process numbers; empty where /proc does not say
  std::string host;     // for people

  // Of this process, now.
  static ProcessIdentity own();
  // Nothing where the text is not what serialise() writes.
  static std::optional<ProcessIdentity> parse(std::string_view text);
  // One line.
  std::string serialise() const;
  // "process 12 (started at tick 345) on host node0"
  std::string describe() const;
  // Whether the process runs; nothing where it is out of sight: on another host, or in another container.
  std::optional<bool> is_alive() const;
  // Whether a signal or a debugger has stopped it. Requires that it is in sight.
  bool is_stopped() const;

  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

}  // namespace hocket
