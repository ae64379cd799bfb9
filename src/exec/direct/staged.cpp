// The staged path of direct operations: through the staging areas, in rounds, with a few rounds in flight.
//
// In a round every member copies in what others need of its input; where the collective combines, part p is combined by
// member p, which takes its own operand from its own buffer and writes its own output itself; then everyone copies out
// what it needs. Each member publishes how many rounds it has brought through each stage.
//
// With single copy nothing is copied in: who combines or copies out reads it where it lies (single_copy.cpp). Then a
// member stays until all have read what they need of it.
#include <algorithm>

#include "src/exec/direct/board.hpp"
#include "src/exec/direct/combine.hpp"
#include "src/exec/direct/direct_operation.hpp"

namespace hocket {
void DirectOperation::begin_staged() {
  stamped_ = ++use_.stamped;
  const DirectPath path = single_copy_ ? DirectPath::single_copy : DirectPath::staged;
  exchange_ = Exchange(binding().signature, exchange_.root(), members_,
                       grain_of(path, exchange_, use_.window->staging_bytes()));
  phase_ = Phase::staged;
}

std::byte* DirectOperation::staged_input(std::uint32_t member, std::size_t round, std::uint32_t part) const {
  const std::size_t slot = round % board::rounds_in_flight * (exchange_.parts_per_source() + 1);
  return use_.window->staging(member) + board::payload_bytes +
         (slot + exchange_.place_at_source(part)) * exchange_.grain();
}

std::byte* DirectOperation::staged_result(std::uint32_t member, std::size_t round) const {
  if (single_copy_) {  // the first half is for what is fetched
    return use_.window->staging(member) + board::payload_bytes + fetch_room(use_.window->staging_bytes()) +
           round % board::rounds_in_flight * exchange_.grain();
  }
  const std::size_t slot = round % board::rounds_in_flight * (exchange_.parts_per_source() + 1);
  return use_.window->staging(member) + board::payload_bytes +
         (slot + exchange_.parts_per_source()) * exchange_.grain();
}

void DirectOperation::publish(std::size_t index, std::size_t count) {
  word(self_, board::progress_line, index).store(stamp(count), std::memory_order_release);
}

bool DirectOperation::everyone_reached(std::size_t index, std::size_t count) const {
  for (std::uint32_t member = 0; member < members_; ++member) {
    if (word(member, board::progress_line, index).load(std::memory_order_acquire) < stamp(count)) return false;
  }
  return true;
}

// One stage of one round, the last stage first: that frees the most.
bool DirectOperation::advance_staged(Counters& counters) {
  const bool happened = copy_out() || combine_own() || copy_in(counters);
  if (happened) use_.window->wake_others();
  if (copied_out_ == exchange_.rounds() && (!single_copy_ || everyone_reached(board::rounds_out, copied_out_))) {
    phase_ = Phase::done;
  }
  return happened;
}

bool DirectOperation::copy_in(Counters& counters) {
  if (copied_in_ == exchange_.rounds()) return false;
  if (!single_copy_ && copied_in_ >= board::rounds_in_flight) {  // the slot's last round must have been read by all
    const std::size_t last = copied_in_ - board::rounds_in_flight + 1;
    if (!everyone_reached(exchange_.combines() ? board::rounds_combined : board::rounds_out, last)) return false;
  }
  for (std::uint32_t index = 0; index < exchange_.parts(); ++index) {
    const Part part = exchange_.part(copied_in_, index);
    const bool for_others = exchange_.combines() ? index != self_ : part.target != self_;
    if (part.bytes == 0 || !part.comes_from(self_) || !for_others) continue;
    if (!single_copy_) {
      std::memcpy(staged_input(self_, copied_in_, index), binding().input + part.source_offset, part.bytes);
    }
    counters.bytes_sent += part.bytes;
    if (copied_in_ == 0) ++counters.steps;
  }
  ++copied_in_;
  if (!single_copy_) publish(board::rounds_in, copied_in_);
  return true;
}

bool DirectOperation::combine_own() {
  if (!exchange_.combines() || combined_ == copied_in_) return false;
  if (!single_copy_ && !everyone_reached(board::rounds_in, combined_ + 1)) return false;
  const Part part = exchange_.part(combined_, self_);
  const bool takes_slot = !single_copy_ || !part.goes_to(self_);
  if (takes_slot && combined_ >= board::rounds_in_flight &&
      !everyone_reached(board::rounds_out, combined_ - board::rounds_in_flight + 1)) {
    return false;
  }
  if (part.bytes != 0 && single_copy_) {
    if (!combine_single_copy(part)) return true;
  } else if (part.bytes != 0) {
    sources_.clear();
    targets_.clear();
    for (std::uint32_t member = 0; member < members_; ++member) {
      sources_.push_back(member == self_ ? binding().input + part.source_offset
                                         : staged_input(member, combined_, self_));
    }
    if (part.goes_to(self_)) targets_.push_back(binding().output + part.target_offset);
    if (part.target != self_) targets_.push_back(staged_result(self_, combined_));
    combine(binding().reduction, sources_, targets_, part.bytes);
  }
  publish(board::rounds_combined, ++combined_);
  return true;
}

bool DirectOperation::copy_out() {
  const bool combines = exchange_.combines();
  const bool staged = !single_copy_;
  if (copied_out_ == (combines ? combined_ : copied_in_)) return false;
  if ((combines || staged) &&
      !everyone_reached(combines ? board::rounds_combined : board::rounds_in, copied_out_ + 1)) {
    return false;
  }
  for (std::uint32_t index = 0; index < exchange_.parts(); ++index) {
    const Part part = exchange_.part(copied_out_, index);
    if (part.bytes == 0 || !part.goes_to(self_) || (combines && index == self_)) continue;
    std::byte* to = binding().output + part.target_offset;
    if (single_copy_ && combines && part.goes_to(index)) {  // the result lies in the output of who combined it
      if (!fetch(index, announcements_[index].output_at + part.target_offset, to, part.bytes)) return true;
      continue;
    }
    if (single_copy_ && !combines && part.source != self_) {
      if (!fetch(part.source, announcements_[part.source].input_at + part.source_offset, to, part.bytes)) return true;
      continue;
    }
    const std::byte* from = combines               ? staged_result(index, copied_out_)
                            : part.source == self_ ? binding().input + part.source_offset
                                                   : staged_input(part.source, copied_out_, index);
    if (from != to) std::memcpy(to, from, part.bytes);
  }
  publish(board::rounds_out, ++copied_out_);
  return true;
}

}  // namespace hocket
