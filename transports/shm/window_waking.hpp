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
    const WindowMember* const first = group_.members.data();
    const WindowMember* const own = first + group_.self;
    for (const WindowMember& member : group_.members) {
      if (&member != own && member.board->wake_flag.wake()) group_.wake(static_cast<std::size_t>(&member - first));
    }
  }

 private:
  WindowGroup& group_;
};

}  // namespace hocket::shm
