#include "transports/shm/shm_window.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "src/base/log.hpp"

namespace hocket::shm {
namespace {

std::vector<WindowMember> members_of(std::span<const Rank> ranks) {
  std::vector<WindowMember> members(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) members[i].rank = ranks[i];
  return members;
}

}  // namespace

ShmWindow::ShmWindow(std::uint32_t number, WindowRegistry& registry, const RegionTable* regions, Connector& connector,
                     const WakeSocket& wake_socket, std::span<const Rank> members, std::uint32_t self)
    : registry_(registry),
      group_{.members = members_of(members),
             .self = self,
             .connector = connector,
             .wake_socket = wake_socket,
             .number = number},
      handshake_(group_),
      regions_(group_, regions),
      waking_(group_) {
  std::vector<Rank> peers(members.begin(), members.end());
  peers.erase(peers.begin() + self);
  registry_.add(*this, std::move(peers));
}

ShmWindow::~ShmWindow() {
  registry_.close(*this);
}

std::optional<std::uint32_t> ShmWindow::member_of(Rank rank) const {
  const auto found = std::ranges::find(group_.members, rank, &WindowMember::rank);
  if (found == group_.members.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - group_.members.begin());
}

bool ShmWindow::take(Rank from, Packet& packet) {
  const auto member = member_of(from);  // the registry brings nobody else's
  switch (packet.kind) {
    case PacketKind::region: return regions_.take_region(*member, packet);
    case PacketKind::gone_region: return regions_.take_removal(*member, packet);
    default: return handshake_.take(*member, packet);
  }
}

void ShmWindow::commit_staging() {
  std::byte* const at = group_.own().staging;
  const Status room = check_room("a window", window_staging_bytes);
  if (!room.ok()) log::error(room.message());
  if (!room.ok() || !enter_pages(at, window_staging_bytes)) throw std::bad_alloc();
  group_.staging_is_committed = true;
}

bool ShmWindow::reads_plain_memory() {
  if (!reads_plain_memory_) {
    reads_plain_memory_ = std::ranges::all_of(
        group_.members, [](WindowMember& member) { return member.plain_memory.probe(member.board->plain_memory); });
  }
  return *reads_plain_memory_;
}

PlainReads ShmWindow::plain_reads() {
  const PlainMemoryInfo& first = group_.members[0].board->plain_memory;
  return first.read > 0 ? PlainReads{.read = first.read, .copy = first.copy} : PlainReads();
}

Status ShmWindow::read(std::uint32_t member, std::uintptr_t from, std::byte* to, std::size_t bytes) {
  const Status status = group_.members[member].plain_memory.read(from, to, bytes);
  if (status.ok()) return status;
  const Rank rank = group_.members[member].rank;
  return Status(Cause{.code = status.code(),
                      .message = fmt::format("rank {}'s part of the data is gone: {}", rank, status.message()),
                      .peer = rank});
}

}  // namespace hocket::shm
