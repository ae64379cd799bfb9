// WindowWaking: how the members of a window sleep, and wake each other.
#pragma once

#include <cstddef>

#include "transports/shm/window_group.hpp"

namespace hocket::shm {

class WindowWaking {
 public:
  explicit WindowWaking(WindowGroup& group) : group_(group), self_(group.self), size_(group.members.size()) {}

  // This member's own sleep.
  WakeFlag& own_flag() { return group_.own().board->wake_flag; }

  // See Window. Mostly nobody sleeps, and then this is all.
  void wake_sleepers() {
    const MemberBoard* const boards = boards_of_all();
    for (std::size_t member = 0; member < size_; ++member) {
      if (member != self_ && boards[member].wake_flag.sleeps()) [[unlikely]]
        return wake_each();
    }
  }

 private:
  MemberBoard* boards_of_all() { return group_.members.front().board; }  // side by side
  [[gnu::noinline]] void wake_each() {
    MemberBoard* const boards = boards_of_all();
    const MemberSet self = set_of(group_.self);
    for (std::size_t member = 0; member < size_; ++member) {
      if (member != self_ && boards[member].wake_flag.wake(self)) group_.wake(member);
    }
  }

  WindowGroup& group_;
  const std::size_t self_, size_;
};

}  // namespace hocket::shm
