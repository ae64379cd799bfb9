// The members of one window, as its handshake, its regions and its wake-ups see them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/base/arithmetic.hpp"
#include "src/base/wake_event.hpp"
#include "src/spi/window.hpp"
#include "transports/shm/connector.hpp"
#include "transports/shm/plain_memory.hpp"
#include "transports/shm/shared_memory.hpp"
#include "transports/shm/wake_flag.hpp"
#include "transports/shm/wake_socket.hpp"

namespace hocket::shm {

inline constexpr std::size_t window_staging_bytes = std::size_t{4} << 20;
// Members of a larger window are connected in a ring, and with others when the two have something to say.
inline constexpr std::size_t all_connected_max = 16;

// What a member shows to all others.
struct MemberBoard {
  alignas(4096) WakeFlag wake_flag;
  alignas(64) PlainMemoryInfo plain_memory;
  std::atomic<std::uint64_t> wake_name;  // see WakeSocket; 0: it has none
  std::atomic<std::uint64_t> progress;   // how far it is in opening the window, see WindowHandshake
  alignas(4096) ControlLine lines[Window::lines_per_member];
};

// A window is one file: the boards of all members, then their staging areas, which begin where a huge page may.
constexpr std::size_t staging_offset(std::size_t members) {
  return round_up(members * sizeof(MemberBoard), std::size_t{2} << 20);
}
constexpr std::size_t window_bytes(std::size_t members) {
  return staging_offset(members) + members * window_staging_bytes;
}

struct WindowMember {
  Rank rank = no_rank;
  MemberBoard* board = nullptr;  // both within the window's memory
  std::byte* staging = nullptr;
  PlainMemory plain_memory = {};
};

struct WindowGroup {
  std::vector<WindowMember> members;
  std::uint32_t self = 0;
  Connector& connector;
  const WakeSocket& wake_socket;
  std::uint64_t number = 0;  // of the window, on which its members agree
  Mapping memory = {};
  bool staging_is_committed = false;  // this member's

  WindowMember& own() { return members[self]; }
  const WindowMember& own() const { return members[self]; }
  std::size_t next() const { return (self + 1) % members.size(); }
  std::size_t previous() const { return (self + members.size() - 1) % members.size(); }
  // Null for this rank, and where nobody has asked for a link.
  ShmLink* link(std::size_t member) const { return member == self ? nullptr : connector.find(members[member].rank); }
  void tell(std::size_t member, const Packet& packet, std::span<const int> fds = {}) const {
    if (ShmLink* const to = link(member); to != nullptr && to->up()) to->channel().send(packet, fds);
  }
  // Ends the poll(2) of another member. Any thread: only in a small window links stay what they are.
  void wake(std::size_t member) const {
    const ShmLink* const to = members.size() <= all_connected_max ? link(member) : nullptr;
    if (to != nullptr && to->attached()) {
      set_event(to->wake_event());
    } else {
      wake_socket.wake(members[member].board->wake_name.load(std::memory_order_relaxed));
    }
  }
  // To all members that this one is connected with.
  void tell_all(const Packet& packet) const {
    for (std::size_t member = 0; member < members.size(); ++member) tell(member, packet);
  }
};

}  // namespace hocket::shm
