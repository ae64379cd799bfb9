#include "src/exec/direct/direct_operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/exec/direct/board.hpp"
#include "src/exec/direct/combine.hpp"

namespace hocket {
namespace {

// Above this much work for each member, combining everything by oneself costs more than sharing it.
constexpr std::size_t one_shot_work_bytes = std::size_t{512} << 10;
// Below this, mapping and the second hand-over cost more than they save.
constexpr std::size_t mapped_bytes_min = std::size_t{4} << 10;
// The same where members outnumber cores, so that work which everyone repeats takes time away from the others; and up
// to where the pool beats the staging areas.
constexpr std::size_t alone_work_bytes_max = std::size_t{16} << 10;
constexpr std::size_t pooled_bytes_max = std::size_t{128} << 10;
constexpr int polls_before_waking = 8;
constexpr std::size_t mapped_grain_bytes = std::size_t{128} << 10;

}  // namespace

DirectOperation::DirectOperation(WindowUse& use)
    : use_(use),
      members_(use.window->size()),
      self_(use.window->self()),
      announcements_(members_),
      mapped_inputs_(members_),
      mapped_outputs_(members_) {
  sources_.reserve(members_);
  targets_.reserve(members_);
}

Status DirectOperation::start(const Tag&, Peers&) {
  use_.window->tidy();  // one operation at a time runs over a window
  turn_ = ++use_.turn;
  next_member_ = 0;
  own_next_ = copied_in_ = combined_ = copied_out_ = 0;
  std::uint32_t root = 0;
  while (root + 1 < members_ && use_.window->rank_of(root) != binding().signature.root) ++root;
  exchange_ = Exchange(binding().signature, root, members_, mapped_grain_bytes);
  phase_ = Phase::announce;
  return {};
}

bool DirectOperation::advance(Counters& counters) {
  switch (phase_) {
    case Phase::announce:
      announce(counters);
      phase_ = Phase::gather;
      [[fallthrough]];
    case Phase::gather:
      if (!read_announcements()) {
        if (polls_to_waking_ >= 0 && polls_to_waking_-- == 0) use_.window->wake_others();
        return false;
      }
      settle_waking();
      choose_path();
      return true;
    case Phase::one_shot: run_one_shot(); return true;
    case Phase::pooled: return advance_pooled();
    case Phase::mapped: return advance_mapped(counters);
    case Phase::mapped_end:
      if (!mapped_finished()) return false;
      phase_ = Phase::done;
      return true;
    case Phase::staged: return advance_staged(counters);
    case Phase::done: break;
  }
  return false;
}

// ---- announcing -----------------------------------------------------------------------------------------------------

std::byte* DirectOperation::payload_slot(std::uint32_t member) const {
  return use_.window->staging(member) + turn_ % board::announcements * board::payload_slot_bytes;
}

// Puts this member's input where the others can read it, if it is small. False: it is not.
bool DirectOperation::put_payload(Announcement& own, Counters& counters) {
  const std::size_t bytes = exchange_.input_bytes(self_);
  std::size_t largest = 0;  // equal on all members, so that all choose alike
  for (const std::uint32_t member : {0U, members_ - 1}) largest = std::max(largest, exchange_.input_bytes(member));
  largest = std::max(largest, exchange_.input_bytes(exchange_.root()));
  const std::size_t work = exchange_.combines()
                               ? largest * members_
                               : std::max(exchange_.output_bytes(0), exchange_.output_bytes(exchange_.root()));
  pools_work_ = exchange_.combines() && use_.shares_work && work > alone_work_bytes_max;
  const std::size_t pool = std::min(pooled_bytes_max, use_.window->staging_bytes() - board::payload_bytes);
  if (pools_work_ ? largest > pool : largest > board::payload_slot_bytes || work > one_shot_work_bytes) {
    return false;
  }
  if (bytes <= Announcement::inline_bytes_max) {
    own.flags |= Announcement::inlined;
    if (bytes != 0) std::memcpy(own.payload, binding().input, bytes);
  } else {
    own.flags |= Announcement::staged;
    std::memcpy(payload_slot(self_), binding().input, bytes);
  }
  counters.steps += 1;
  counters.bytes_sent += bytes;
  return true;
}

// Equal on all members. Measured on two cores, faster than the staging areas (µs, 2 ranks): allgather of 1 MiB 24
// against 73, of 64 MiB 6,300 against 8,000; broadcast of 1 MiB 61 against 75, but from 4 MiB on its root should not be
// idle; allreduce of 4 to 16 MiB 12 to 15 %. With more ranks than cores it is slower almost everywhere.
bool DirectOperation::wants_single_copy() const {
  if (use_.single_copy == SingleCopy::never || !use_.window->reads_plain_memory()) return false;
  if (use_.single_copy == SingleCopy::always) return true;
  constexpr std::size_t kib = 1024, mib = 1024 * kib;
  const std::size_t bytes = exchange_.buffer_bytes_max();
  if (use_.shares_work) return false;
  if (exchange_.combines()) return bytes >= 4 * mib && bytes <= 16 * mib;
  return bytes >= 64 * kib && (bytes < mib || binding().signature.collective != Collective::broadcast);
}

void DirectOperation::announce(Counters& counters) {
  Announcement& own = announcements_[self_];
  own = {.call = binding().signature};
  const std::size_t in = exchange_.input_bytes(self_), out = exchange_.output_bytes(self_);
  if (std::max(in, out) >= mapped_bytes_min) {
    if (in != 0) own.input = use_.window->locate(binding().input, in);
    if (out != 0) own.output = use_.window->locate(binding().output, out);
  }
  const bool located = (in == 0 || own.input.region != 0) && (out == 0 || own.output.region != 0);
  if (located && in + out != 0 && std::max(in, out) >= mapped_bytes_min) {
    own.flags |= Announcement::mapped;
  }
  if (wants_single_copy()) {
    own.flags |= Announcement::plain;
    own.input_at = reinterpret_cast<std::uintptr_t>(binding().input);
    own.output_at = reinterpret_cast<std::uintptr_t>(binding().output);
  } else if ((own.flags & Announcement::mapped) == 0) {
    put_payload(own, counters);
  }
  own.write(&use_.window->board(self_)[board::announcement_line(turn_)], turn_);
  polls_to_waking_ = use_.shares_work ? 0 : polls_before_waking;
}

bool DirectOperation::read_announcements() {
  for (; next_member_ < members_; ++next_member_) {
    if (next_member_ == self_) continue;
    const BoardLine* lines = &use_.window->board(next_member_)[board::announcement_line(turn_)];
    const std::uint64_t turn = lines->words[0].load(std::memory_order_acquire);
    if (turn < turn_ || turn == board::withdrawn) return false;
    Announcement& theirs = announcements_[next_member_];
    theirs.read(lines);
    if (!check(next_member_, theirs)) return false;
  }
  return true;
}

bool DirectOperation::check(std::uint32_t member, const Announcement& theirs) {
  if (theirs.call == binding().signature) return true;
  const Rank rank = use_.window->rank_of(member);
  fail(Status(Cause{.code = Code::mismatch,
                    .message = fmt::format("rank {} called {}, while this rank called {}", rank, describe(theirs.call),
                                           describe(binding().signature)),
                    .peer = rank,
                    .operation = {}}));
  return false;
}

void DirectOperation::choose_path() {
  std::uint64_t all = ~std::uint64_t{0};
  bool payloads = true;
  for (const Announcement& announcement : announcements_) {
    all &= announcement.flags;
    payloads &= (announcement.flags & (Announcement::inlined | Announcement::staged)) != 0;
  }
  path_ = "direct one-shot";  // also where nothing is to be moved: everybody has announced
  if (exchange_.rounds() == 0) {
    phase_ = Phase::done;
  } else if (payloads && pools_work_) {
    path_ = "direct pooled";
    begin_pooled();
  } else if (payloads) {
    phase_ = Phase::one_shot;
  } else if ((all & Announcement::mapped) != 0) {
    path_ = "direct mapped";
    begin_mapped();
  } else {
    single_copy_ = (all & Announcement::plain) != 0;
    path_ = single_copy_ ? "direct single copy" : "direct staged";
    begin_staged();
  }
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

// ---- one-shot -------------------------------------------------------------------------------------------------------

void DirectOperation::run_one_shot() {
  for (std::size_t round = 0; round < exchange_.rounds(); ++round) {
    for (std::uint32_t index = 0; index < exchange_.parts(); ++index) {
      const Part part = exchange_.part(round, index);
      if (part.bytes == 0 || !part.goes_to(self_)) continue;
      sources_.clear();
      for (std::uint32_t member = 0; member < members_; ++member) {
        if (part.comes_from(member)) sources_.push_back(payload_of(member) + part.source_offset);
      }
      std::byte* target = binding().output + part.target_offset;
      combine(binding().reduction, sources_, {&target, 1}, part.bytes);
    }
  }
  phase_ = Phase::done;
}

}  // namespace hocket
