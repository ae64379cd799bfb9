#include "transports/shm/window_handshake.hpp"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "src/base/hash.hpp"
#include "src/base/printable.hpp"

namespace hocket::shm {
namespace {

static_assert(sizeof(MemberBoard) % 4096 == 0);

std::uint64_t fingerprint_of(const std::vector<WindowMember>& members) {
  Hash hash;
  for (const WindowMember& member : members) hash.add(static_cast<std::uint32_t>(member.rank));
  return hash.value();
}

}  // namespace

WindowHandshake::WindowHandshake(WindowGroup& group)
    : group_(group), began_(group.members.size()), fingerprint_(fingerprint_of(group.members)) {}

// ---- what this member does ------------------------------------------------------------------------------------------

Status WindowHandshake::begin() {
  group_.tell_all({.kind = PacketKind::opening, .words = {group_.number, fingerprint_}});
  began_[group_.self] = true;
  if (group_.self != 0) return {};
  if (Status made = make_memory(); !made.ok()) return made;
  if (group_.members.size() == 1) {
    opened_ = true;
  } else {
    pass_on();
  }
  return {};
}

Status WindowHandshake::make_memory() {
  auto fd = create_memory("a window", window_bytes(group_.members.size()), Commit::later);
  if (!fd) return fd.status();
  return share(*fd);
}

// Hands the memory on before anything else: the others need not wait for this member's part.
Status WindowHandshake::share(const UniqueFd& fd) {
  const std::size_t members = group_.members.size(), bytes = window_bytes(members);
  const int number = fd.get();
  if (group_.next() != 0) {
    group_.tell(group_.next(), {.kind = PacketKind::segment, .words = {group_.number, bytes}}, {&number, 1});
  }
  const std::size_t boards = group_.self * sizeof(MemberBoard);
  const std::size_t staging = staging_offset(members) + group_.self * window_staging_bytes;
  if (Status room = commit_memory("a window", number, boards, sizeof(MemberBoard)); !room.ok()) return room;
  auto memory = map_memory(number, 0, bytes);
  if (!memory) return memory.status();
  group_.memory = std::move(*memory);
  group_.staging_is_committed = !enter_pages(group_.memory.data() + boards, sizeof(MemberBoard));
  const Status room = group_.staging_is_committed ? commit_memory("a window", number, staging, window_staging_bytes)
                                                  : check_room("a window", window_staging_bytes);
  if (!room.ok()) return room;
  std::byte* const at = group_.memory.data();
  for (std::size_t i = 0; i < members; ++i) {
    group_.members[i].board = std::launder(reinterpret_cast<MemberBoard*>(at + i * sizeof(MemberBoard)));
    group_.members[i].staging = at + staging_offset(members) + i * window_staging_bytes;
  }
  plain_memory_.show(group_.own().board->plain_memory, group_.self == 0);
  group_.own().board->wake_name = group_.wake_socket.name();
  show(part_is_there);
  return {};
}

void WindowHandshake::pass_on() {
  group_.tell(group_.next(), {.kind = PacketKind::ready, .words = {group_.number}});
  passed_on_ = true;
  show(word_is_passed_on);
}

void WindowHandshake::show(Progress progress) const {
  group_.own().board->progress.store(progress, std::memory_order_release);
}

Status WindowHandshake::advance() {
  if (has_no_room_) {
    return {Code::out_of_resources, "no file descriptor is left for the memory of a window: raise `ulimit -n`"};
  }
  if (memory_) {
    const UniqueFd fd = std::exchange(memory_, {});
    if (Status shared = share(fd); !shared.ok()) return shared;
  }
  if (opened_ || !group_.memory) return {};
  if (came_ && !passed_on_) pass_on();
  if (came_ && group_.self == 0) {
    show(all_are_there);
    for (std::size_t member = 1; member < group_.members.size(); ++member) group_.wake(member);
  }
  // Others' boards enter this process's page table when they are first touched: 128 of them are 18 MB, most of which
  // most processes never touch.
  opened_ = progress_of(0) == all_are_there;
  return {};
}

Status WindowHandshake::give_up(const Status& why) const {
  const Rank own = group_.own().rank;
  Cause cause = why.cause();
  if (cause.rank == no_rank) {
    cause.rank = cause.peer = own;
    cause.message = fmt::format("rank {} takes no part in a window: {}", own, cause.message);
  }
  group_.tell_all({.kind = PacketKind::refusal,
                   .words = {group_.number, static_cast<std::uint64_t>(cause.code),
                             static_cast<std::uint32_t>(cause.rank), static_cast<std::uint32_t>(cause.peer)},
                   .text = cause.message});
  return Status(std::move(cause));
}

// ---- who is missing -------------------------------------------------------------------------------------------------

// The first member may have opened the window, and left, before the last one hears of that.
bool WindowHandshake::needs(std::size_t member) const {
  if (opened_) return false;
  if (member == group_.previous()) return true;
  return member == group_.next() && (member != 0 || !passed_on_);
}

std::uint64_t WindowHandshake::progress_of(std::size_t member) const {
  return group_.members[member].board->progress.load(std::memory_order_acquire);
}

// The member at which the word is, as the boards tell: it goes from the first one round to that one.
std::size_t WindowHandshake::holder() const {
  for (std::size_t i = 0; i < group_.members.size(); ++i) {
    if (progress_of(i) < word_is_passed_on) return i;
  }
  return 0;
}

// Who has not begun may wait for a connection with another; but one alone, among members that are all connected, does
// not. Who has no memory yet sees only that nothing comes from the one before it, which may wait for it, too.
WindowHandshake::Missing WindowHandshake::missing() const {
  std::vector<std::size_t> late;
  for (std::size_t i = 0; i < began_.size(); ++i) {
    const ShmLink* const link = group_.link(i);
    if (link == nullptr || began_[i]) continue;
    if (!began_[group_.self] && !link->up()) return {group_.members[i].rank, true};
    late.push_back(i);
  }
  const bool all_connected = began_.size() <= all_connected_max;
  if (!late.empty()) return {group_.members[late.front()].rank, all_connected && late.size() == 1};
  const bool has_memory = group_.own().board != nullptr;
  if (const std::size_t at = has_memory ? holder() : group_.self; at != group_.self) {
    return {group_.members[at].rank, all_connected || progress_of(at) > nothing};
  }
  return {group_.members[group_.previous()].rank, !has_memory && group_.previous() == 0};
}

// ---- what others say ------------------------------------------------------------------------------------------------

void WindowHandshake::refuse_other_list(Rank from) {
  const Rank own = group_.own().rank;
  refusal_ =
      Status(Cause{.code = Code::mismatch,
                   .message = fmt::format("rank {} opened a window with different members from rank {}", from, own),
                   .rank = own,
                   .peer = from});
}

bool WindowHandshake::take(std::size_t member, Packet& packet) {
  switch (packet.kind) {
    case PacketKind::opening: return take_opening(member, packet);
    case PacketKind::segment: return take_segment(member, packet);
    case PacketKind::ready: return take_word(member);
    case PacketKind::refusal: return take_refusal(packet);
    default: return false;
  }
}

bool WindowHandshake::take_opening(std::size_t member, const Packet& packet) {
  if (began_[member]) return false;
  began_[member] = true;
  if (packet.words[1] != fingerprint_) refuse_other_list(group_.members[member].rank);
  return true;
}

bool WindowHandshake::take_segment(std::size_t member, Packet& packet) {
  if (!refusal_.ok()) return true;
  const std::size_t bytes = window_bytes(group_.members.size());
  const bool expected = member == group_.previous() && group_.self != 0 && !memory_ && !group_.memory;
  if (!expected || packet.words[1] != bytes || packet.fds.size() > 1) return false;
  has_no_room_ = packet.fds.empty();
  if (has_no_room_) return true;
  memory_ = std::move(packet.fds.front());
  if (Status checked = check_memory(memory_.get(), bytes); !checked.ok()) return false;
  return true;
}

bool WindowHandshake::take_word(std::size_t member) {
  if (!refusal_.ok()) return true;
  return member == group_.previous() && !std::exchange(came_, true);
}

bool WindowHandshake::take_refusal(const Packet& packet) {
  if (!refusal_.ok() || opened_) return true;
  refusal_ = Status(Cause{.code = failure_code(packet.words[1]),
                          .message = printable(packet.text),
                          .rank = static_cast<Rank>(packet.words[2]),
                          .peer = static_cast<Rank>(packet.words[3])});
  return true;
}

}  // namespace hocket::shm
