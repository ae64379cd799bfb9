// The members of one window, as its handshake, its regions and its wake-ups see them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/spi/window.hpp"
#include "transports/shm/plain_memory.hpp"
#include "transports/shm/shared_memory.hpp"
#include "transports/shm/shm_link.hpp"
#include "transports/shm/wake_flag.hpp"

namespace hocket::shm {

inline constexpr std::size_t window_staging_bytes = std::size_t{4} << 20;

// What lies behind the staging area of a segment.
struct SegmentTail {
  alignas(4096) WakeFlag wake_flag;
  alignas(64) PlainMemoryCard plain_memory;
  alignas(4096) ControlLine lines[Window::lines_per_member];
};
inline constexpr std::size_t segment_bytes = window_staging_bytes + sizeof(SegmentTail);

struct WindowMember {
  Rank rank = no_rank;
  ShmLink* link = nullptr;  // null for this rank
  Mapping segment = {};
  SegmentTail* tail = nullptr;  // within the segment
  PlainMemory plain_memory = {};
};

struct WindowGroup {
  std::vector<WindowMember> members;
  std::uint32_t self = 0;
  std::uint64_t number = 0;  // of the window: members count the windows that they open, so they agree on it

  WindowMember& own() { return members[self]; }
  const WindowMember& own() const { return members[self]; }
  // To all other members.
  void tell(const Packet& packet, std::span<const int> fds = {}) {
    for (WindowMember& member : members) {
      if (member.link != nullptr && member.link->up()) member.link->channel().send(packet, fds);
    }
  }
};

}  // namespace hocket::shm
