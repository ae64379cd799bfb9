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
  WakeFlag& own_flag() { return group_.own().board->wake_flag; }

  void wake_others() {
    full_fence();
    for (std::size_t member = 0; member < group_.members.size(); ++member) {
      if (member != group_.self && group_.members[member].board->wake_flag.wake()) wake_poller(member);
    }
  }

 private:
  void wake_poller(std::size_t member) {
    if (const ShmLink* const link = group_.link(member); link != nullptr && link->attached()) {
      set_event(link->wake_event());
    } else {
      group_.wake_socket.wake(group_.members[member].board->wake_name.load(std::memory_order_relaxed));
    }
  }

  WindowGroup& group_;
};

}  // namespace hocket::shm
