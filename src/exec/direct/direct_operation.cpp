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
  if (largest > board::payload_slot_bytes || work > one_shot_work_bytes) return false;
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
  } else {
    put_payload(own, counters);
  }
  own.write(use_.window->board(self_)[board::announcement_line(turn_)], turn_);
  polls_to_waking_ = use_.shares_work ? 0 : polls_before_waking;
}

bool DirectOperation::read_announcements() {
  for (; next_member_ < members_; ++next_member_) {
    if (next_member_ == self_) continue;
    const BoardLine& line = use_.window->board(next_member_)[board::announcement_line(turn_)];
    if (line.words[0].load(std::memory_order_acquire) < turn_) return false;
    Announcement& theirs = announcements_[next_member_];
    theirs.read(line);
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
  if (exchange_.rounds() == 0) {
    phase_ = Phase::done;
  } else if (payloads) {
    phase_ = Phase::one_shot;
  } else if ((all & Announcement::mapped) != 0) {
    begin_mapped();
  } else {
    begin_staged();
  }
}

void DirectOperation::settle_waking() {
  if (polls_to_waking_ >= 0) use_.window->wake_others();
  polls_to_waking_ = -1;
}

// Who has announced and left has also finished.
bool DirectOperation::can_do_without(Rank peer) const {
  for (std::uint32_t member = 0; member < members_; ++member) {
    if (use_.window->rank_of(member) != peer) continue;
    return word(member, board::announcement_line(turn_), 0).load(std::memory_order_acquire) >= turn_;
  }
  return true;
}

Operation::Missing DirectOperation::missing() const {
  Missing missing;
  for (std::uint32_t member = 0; member < members_; ++member) {
    const bool announced = word(member, board::announcement_line(turn_), 0).load(std::memory_order_acquire) >= turn_;
    const bool here = phase_ == Phase::announce || phase_ == Phase::gather
                          ? announced
                          : phase_ != Phase::staged ||
                                word(member, board::progress_line, board::rounds_out) >= stamp(copied_out_ + 1);
    if (here || member == self_) continue;
    const Rank rank = use_.window->rank_of(member);
    if (missing.peer == no_rank) missing.peer = rank;
    missing.text += fmt::format("{} rank {}", missing.text.empty() ? "waiting for" : ",", rank);
  }
  if (missing.text.empty()) missing.text = "waiting for ranks that have begun but not finished their part";
  return missing;
}

// ---- one-shot -------------------------------------------------------------------------------------------------------

void DirectOperation::run_one_shot() {
  const auto input_of = [&](std::uint32_t member) -> const std::byte* {
    if (member == self_) return binding().input;
    const Announcement& theirs = announcements_[member];
    return (theirs.flags & Announcement::inlined) != 0 ? theirs.payload : payload_slot(member);
  };
  for (std::size_t round = 0; round < exchange_.rounds(); ++round) {
    for (std::uint32_t index = 0; index < exchange_.parts(); ++index) {
      const Part part = exchange_.part(round, index);
      if (part.bytes == 0 || !part.goes_to(self_)) continue;
      sources_.clear();
      for (std::uint32_t member = 0; member < members_; ++member) {
        if (part.comes_from(member)) sources_.push_back(input_of(member) + part.source_offset);
      }
      std::byte* target = binding().output + part.target_offset;
      combine(binding().reduction, sources_, {&target, 1}, part.bytes);
    }
  }
  phase_ = Phase::done;
}

}  // namespace hocket
