// How a direct operation announces itself, and hears that the others have.
//
// A member may be some operations ahead of another, but for two things. It begins none before it has heard the others
// begin what lies run_ahead_max back. And it leaves none that needs data of everyone before it has heard everyone begin
// it, so that everyone has left the one before. What it has not waited for it checks when it hears it.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/exec/direct/board.hpp"
#include "src/exec/direct/direct_operation.hpp"

namespace hocket {
namespace {

constexpr int polls_before_waking = 8;

}  // namespace

// Whether this member needs another one's data, or its word that it has begun.
bool DirectOperation::needs(std::uint32_t member) const {
  if (!rule_.one_way) return true;
  return info_of(binding().signature.collective).is_from_root() ? member == exchange_.root()
                                                                : self_ == exchange_.root();
}

std::byte* DirectOperation::payload_slot(std::uint32_t member) const {
  std::byte* const slots = use_.window->staging(member);
  if (rule_.small_payload) return slots + turn_ % board::announcements * board::small_slot_bytes;
  return slots + board::announcements * board::small_slot_bytes + turn_ % board::large_slots * board::large_slot_bytes;
}

// Puts this member's input where the others can read it.
void DirectOperation::put_payload(Announcement& own, Counters& counters) {
  const std::size_t bytes = exchange_.input_bytes(self_);
  if (bytes <= Announcement::inline_bytes_max) {
    own.flags |= Announcement::inlined;
    if (bytes != 0) std::memcpy(own.payload, binding().input, bytes);
  } else {
    own.flags |= Announcement::staged;
    std::memcpy(payload_slot(self_), binding().input, bytes);
  }
  counters.steps += 1;
  counters.bytes_sent += bytes;
}

void DirectOperation::announce(Counters& counters) {
  Announcement& own = announcements_[self_];
  const WindowUse::Call& call = use_.call(turn_);
  own = {.call = call.signature, .communicator = call.communicator, .digest = call.digest};
  const std::size_t in = exchange_.input_bytes(self_), out = exchange_.output_bytes(self_);
  const bool worth_mapping = rule_.worth_mapping(in, out);
  if (worth_mapping) {
    if (in != 0) own.input = use_.window->locate(binding().input, in);
    if (out != 0) own.output = use_.window->locate(binding().output, out);
  }
  const bool located = (in == 0 || own.input.region != 0) && (out == 0 || own.output.region != 0);
  if (worth_mapping && located) own.flags |= Announcement::mapped;
  if (rule_.plain) {
    own.flags |= Announcement::plain;
    own.input_at = reinterpret_cast<std::uintptr_t>(binding().input);
    own.output_at = reinterpret_cast<std::uintptr_t>(binding().output);
  } else if (rule_.has_payload() && (own.flags & Announcement::mapped) == 0) {
    put_payload(own, counters);
  }
  own.write(&use_.window->board(self_)[board::announcement_line(turn_)], turn_);
  polls_to_waking_ = use_.shares_work ? 0 : polls_before_waking;
}

// The turn that all others must have begun before this member begins turn_. A large payload slot is used again after
// two turns, so everyone must have left the one before last.
std::uint64_t DirectOperation::turn_before() const {
  const std::uint64_t back = rule_.has_payload() && !rule_.small_payload ? 1 : board::run_ahead_max;
  return turn_ > back ? turn_ - back : 0;
}

// Whoever has come as far as this member is heard up to here, so that the next look can wait.
bool DirectOperation::may_announce() {
  const std::uint64_t before = turn_before();
  if (use_.everyone_heard >= before) return true;
  for (; next_member_ < members_; ++next_member_) {
    if (next_member_ == self_ || use_.heard[next_member_] >= before) continue;
    if (!hear(next_member_, turn_ - 1) && (!failure().ok() || !hear(next_member_, before))) return false;
  }
  next_member_ = 0;
  use_.everyone_heard = turn_ - 1;
  for (std::uint32_t member = 0; member < members_; ++member) {
    if (member != self_) use_.everyone_heard = std::min(use_.everyone_heard, use_.heard[member]);
  }
  return true;
}

bool DirectOperation::read_announcements() {
  for (; next_member_ < members_; ++next_member_) {
    if (next_member_ != self_ && needs(next_member_) && !hear(next_member_, turn_)) return false;
  }
  if (!rule_.one_way) use_.everyone_heard = turn_;
  return true;
}

// Reads and checks what `member` has announced as its turn `turn`, and with it all that it called before. False: it
// does not stand there yet, or something was wrong.
bool DirectOperation::hear(std::uint32_t member, std::uint64_t turn) {
  const BoardLine* lines = &use_.window->board(member)[board::announcement_line(turn)];
  const std::uint64_t told = lines->words[0].load(std::memory_order_acquire);
  if (told < turn || told == board::withdrawn) return false;
  Announcement& theirs = announcements_[member];
  theirs.read(lines);
  const WindowUse::Call& mine = use_.call(turn);
  if (theirs.call != mine.signature || theirs.digest != mine.digest) return find_mismatch(member, turn);
  use_.heard[member] = turn;
  return true;
}

// The first of the calls up to `turn` that differs. Always false.
bool DirectOperation::find_mismatch(std::uint32_t member, std::uint64_t turn) {
  std::uint64_t at = use_.heard[member];
  Announcement& theirs = announcements_[member];
  do {
    theirs.read(&use_.window->board(member)[board::announcement_line(++at)]);
  } while (at < turn && theirs.call == use_.call(at).signature && theirs.communicator == use_.call(at).communicator);
  const WindowUse::Call& mine = use_.call(at);
  const Rank rank = use_.window->rank_of(member), here = use_.window->rank_of(self_);
  const auto on = [&](std::uint32_t communicator) {
    if (theirs.communicator == mine.communicator || use_.names == nullptr) return std::string();
    return " on " + use_.names->describe_communicator(communicator, rank);
  };
  fail(Status(
      Cause{.code = Code::mismatch,
            .message = fmt::format("rank {} called {}{} while rank {} called {}{}{}", rank, describe(theirs.call),
                                   on(theirs.communicator), here, describe(mine.signature), on(mine.communicator),
                                   at == turn_ ? "" : fmt::format(", {} calls ago", turn_ - at)),
            .peer = rank,
            .operation = {}}));
  return false;
}

void DirectOperation::settle_waking() {
  if (polls_to_waking_ >= 0) use_.window->wake_others();
  polls_to_waking_ = -1;
}

const std::byte* DirectOperation::payload_of(std::uint32_t member) const {
  if (member == self_) return binding().input;
  const Announcement& theirs = announcements_[member];
  return (theirs.flags & Announcement::inlined) != 0 ? theirs.payload : payload_slot(member);
}

}  // namespace hocket
