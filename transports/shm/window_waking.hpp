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

  // See Window.
  void wake_sleepers() {
    MemberBoard* const boards = group_.members.front().board;  // side by side
    const MemberSet self = set_of(group_.self);
    const auto wake = [&](std::size_t first, std::size_t end) {
      for (std::size_t member = first; member < end; ++member) {
        if (boards[member].wake_flag.wake(self)) [[unlikely]]
          group_.wake(member);
      }
    };
    wake(0, self_);
    wake(self_ + 1, size_);
  }

 private:
  WindowGroup& group_;
  const std::size_t self_, size_;
};

}  // namespace hocket::shm
