#include "transports/shm/window_handshake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

namespace hocket::shm {
namespace {

static_assert(segment_bytes % 4096 == 0);

// FNV-1a.
std::uint64_t fingerprint_of(const std::vector<WindowMember>& members) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const WindowMember& member : members) hash = (hash ^ static_cast<std::uint32_t>(member.rank)) * 0x100000001b3;
  return hash;
}

void adopt(WindowMember& member, Mapping segment) {
  member.segment = std::move(segment);
  member.tail = std::launder(reinterpret_cast<SegmentTail*>(member.segment.data() + window_staging_bytes));
}

}  // namespace

WindowHandshake::WindowHandshake(WindowGroup& group)
    : group_(group), states_(group.members.size()), fingerprint_(fingerprint_of(group.members)) {}

Status WindowHandshake::publish_own() {
  auto fd = create_memory("a window", segment_bytes);
  if (!fd) return fd.status();
  auto mapping = map_memory(fd->get(), 0, segment_bytes, Pages::now);
  if (!mapping) return mapping.status();
  adopt(group_.own(), std::move(*mapping));
  plain_memory_.show(group_.own().tail->plain_memory);
  const int number = fd->get();
  group_.tell({.kind = PacketKind::segment, .words = {group_.number, segment_bytes, fingerprint_}}, {&number, 1});
  states_[group_.self].published = true;
  return {};
}

Status WindowHandshake::confirm() {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (i == group_.self) continue;
    const UniqueFd fd = std::exchange(states_[i].segment, {});
    if (Status checked = check_memory(fd.get(), segment_bytes); !checked.ok()) return checked;
    auto mapping = map_memory(fd.get(), 0, segment_bytes, Pages::now);
    if (!mapping) return mapping.status();
    adopt(group_.members[i], std::move(*mapping));
  }
  reads_plain_memory_ = std::all_of(group_.members.begin(), group_.members.end(), [](WindowMember& member) {
    return member.plain_memory.probe(member.tail->plain_memory);
  });
  group_.tell({.kind = PacketKind::ready, .words = {group_.number}});
  states_[group_.self].confirmed = true;
  return {};
}

Status WindowHandshake::give_up(const Status& why) {
  const Rank own = group_.own().rank;
  Cause cause = why.cause();
  if (cause.rank == no_rank) {
    cause.rank = cause.peer = own;
    cause.message = fmt::format("rank {} takes no part in a window: {}", own, cause.message);
  }
  if (!states_[group_.self].confirmed) {
    group_.tell(
        {.kind = PacketKind::ready,
         .words = {group_.number, static_cast<std::uint64_t>(cause.code), static_cast<std::uint32_t>(cause.peer)},
         .text = cause.message});
  }
  return Status(std::move(cause));
}

bool WindowHandshake::all_published() const {
  return std::all_of(states_.begin(), states_.end(), [](const State& state) { return state.published; });
}

bool WindowHandshake::all_confirmed() const {
  return std::all_of(states_.begin(), states_.end(), [](const State& state) { return state.confirmed; });
}

Rank WindowHandshake::missing() const {
  for (const auto came : {&State::published, &State::confirmed}) {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (!(states_[i].*came)) return group_.members[i].rank;
    }
  }
  return no_rank;
}

void WindowHandshake::refuse_stranger(Rank from) {
  const Rank own = group_.own().rank;
  refusal_ = Status(Cause{.code = Code::mismatch,
                          .message = fmt::format("rank {} opened a window with other members than rank {}", from, own),
                          .rank = own,
                          .peer = from});
}

bool WindowHandshake::take_segment(std::size_t member, Packet& packet) {
  State& state = states_[member];
  if (state.published) return false;
  state.published = true;
  if (packet.words[2] != fingerprint_) {
    refuse_stranger(group_.members[member].rank);
    return true;
  }
  if (packet.words[1] != segment_bytes || packet.fds.size() != 1) return false;
  state.segment = std::move(packet.fds.front());
  return true;
}

bool WindowHandshake::take_confirmation(std::size_t member, const Packet& packet) {
  State& state = states_[member];
  if (state.confirmed) return false;
  state.confirmed = true;
  if (packet.text.empty() || !refusal_.ok()) return true;
  refusal_ = Status(Cause{.code = failure_code(packet.words[1]),
                          .message = printable(packet.text),
                          .rank = group_.members[member].rank,
                          .peer = static_cast<Rank>(packet.words[2])});
  return true;
}

}  // namespace hocket::shm
