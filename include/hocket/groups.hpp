/// @file
/// Groups of calls that start together, in C++.
#pragma once

#include "hocket/errors.hpp"
#include "hocket/groups.h"
#include "hocket/work.hpp"

namespace hocket {
inline namespace api {

/// Calls of this thread that start together, see hocket_group_start(). Members of Communicator that are not named
/// …_async are kept until end(). If the scope is left without an end, for instance by an exception, nothing starts.
///
///     hocket::Group group;
///     comm.send(mine, right);
///     comm.recv(theirs, left);
///     group.end();
class Group {
 public:
  /// Opens the group.
  Group() { check(hocket_group_start()); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  /// Cancels the group unless it has ended.
  ~Group() {
    if (open_) hocket_group_cancel();
  }

  /// Starts the calls and waits for all of them. The end of an inner group leaves both to the outermost group.
  void end() {
    open_ = false;
    check(hocket_group_end(nullptr));
  }
  /// Starts the calls. The end of an inner group leaves that to the outermost group and returns an empty Work.
  Work end_async() {
    open_ = false;
    Work work;
    check(hocket_group_end(&work.handle_));
    return work;
  }

 private:
  bool open_ = true;
};

}  // namespace api
}  // namespace hocket
