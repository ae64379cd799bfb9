// WindowWaking: how the members of a window sleep, and wake each other.
#pragma once

#include <cstdint>

#include "src/base/wake_event.hpp"
#include "transports/shm/fence.hpp"
#include "transports/shm/window_group.hpp"

namespace hocket::shm {

class WindowWaking {
 public:
  explicit WindowWaking(WindowGroup& group) : group_(group) {}

  // This member's own sleep.
  WakeFlag& own_flag() { return group_.own().tail->wake_flag; }

  void wake_others() {
    full_fence();
    for (const WindowMember& member : group_.members) {
      const bool polls = member.link != nullptr && member.tail->wake_flag.wake();
      if (polls) set_event(member.link->wake_event());
    }
  }

 private:
  WindowGroup& group_;
};

}  // namespace hocket::shm
