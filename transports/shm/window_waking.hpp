// WindowWaking: how the members of a window sleep, and wake each other.
#pragma once

#include <cstdint>

#include "transports/shm/fence.hpp"
#include "transports/shm/window_group.hpp"

namespace hocket::shm {

class WindowWaking {
 public:
  explicit WindowWaking(WindowGroup& group) : group_(group) {}

  // This member's own sleep.
  WakeFlag& own_flag() { return group_.own().board->wake_flag; }

  void wake_others() {
    full_fence();
    MemberBoard* const boards = group_.members.front().board;  // side by side
    const std::size_t members = group_.members.size();
    for (std::size_t member = 0; member < members; ++member) {
      if (member != group_.self && boards[member].wake_flag.wake()) group_.wake(member);
    }
  }

 private:
  WindowGroup& group_;
};

}  // namespace hocket::shm
