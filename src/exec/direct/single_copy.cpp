#include "src/exec/direct/single_copy.hpp"

#include <algorithm>

#include "src/base/copy_bytes.hpp"
#include "src/exec/direct/combine.hpp"

namespace hocket {

SingleCopyPath::SingleCopyPath(DirectRun& run, const Announcer& announcer, Counters& counters)
    : run_(run), announcer_(announcer), stage_counts_(run) {
  count_what_others_read(counters);
}

void SingleCopyPath::count_what_others_read(Counters& counters) const {
  const Exchange& exchange = run_.exchange;
  for (std::size_t number = 0; number < run_.parts(); ++number) {
    const Part part = run_.part(number);
    const bool for_others = exchange.combines() ? number % exchange.parts() != run_.self : part.target != run_.self;
    if (part.bytes == 0 || !part.comes_from(run_.self) || !for_others) continue;
    counters.bytes_sent += part.bytes;
    if (number < exchange.parts()) ++counters.steps;
  }
}

// ---- memory ---------------------------------------------------------------------------------------------------------

// Own staging memory, which nobody else reads.
std::byte* SingleCopyPath::fetch_slot(std::uint32_t member) const {
  const std::size_t staging_bytes = run_.window().staging_bytes();
  return run_.window().staging(run_.self) + direct::payload_bytes +
         member * fetch_block_bytes(staging_bytes, run_.members);
}

std::byte* SingleCopyPath::result_slot(std::uint32_t member, std::size_t round) const {
  return run_.window().staging(member) + direct::payload_bytes + fetch_room(run_.window().staging_bytes()) +
         round % direct::rounds_in_flight * run_.exchange.grain();
}

// False: it failed, and so does the run, or a member has ended the call for itself and may have used its memory for
// something else meanwhile.
bool SingleCopyPath::fetch(std::uint32_t member, std::uintptr_t from, std::byte* to, std::size_t bytes) {
  const Status status = run_.window().read(member, from, to, bytes);
  if (announcer_.someone_has_withdrawn()) return false;  // the memory may be gone for that reason
  if (!status.ok()) run_.fail(status);
  return status.ok();
}

// ---- the stages -----------------------------------------------------------------------------------------------------

bool SingleCopyPath::has_done_its_part(std::uint32_t member) const {
  return stage_counts_.reached(member, Stage::copied_out, std::min(copied_out_ + 1, run_.exchange.rounds()));
}

// What goes to this member is put where it belongs, not into a slot that others read.
AwaitedByStage SingleCopyPath::awaited_to_combine() const {
  if (!run_.exchange.combines() || combined_ == run_.exchange.rounds()) return {};
  if (run_.exchange.part(combined_, run_.self).goes_to(run_.self)) return nobody_awaited;
  return stage_counts_.awaited_for_slot(combined_, Stage::copied_out);
}

AwaitedByStage SingleCopyPath::awaited_to_copy_out() const {
  const bool combines = run_.exchange.combines();
  if (copied_out_ == (combines ? combined_ : run_.exchange.rounds())) return {};
  return combines ? stage_counts_.awaited(Stage::combined, copied_out_ + 1) : nobody_awaited;
}

// Nobody else reads the memory of a member without input.
AwaitedByStage SingleCopyPath::awaited_to_end() const {
  if (copied_out_ != run_.exchange.rounds()) return {};
  return run_.exchange.input_bytes(run_.self) > 0 ? stage_counts_.awaited(Stage::copied_out, copied_out_)
                                                  : nobody_awaited;
}

MemberSet SingleCopyPath::awaited_members() const {
  return awaited_by({awaited_to_combine(), awaited_to_copy_out(), awaited_to_end()});
}

// The last stage first: that frees the most.
bool SingleCopyPath::advance(Counters&) {
  const bool all_out = copied_out_ == run_.exchange.rounds();
  if (!all_out && announcer_.someone_has_withdrawn()) return false;  // why is on its way
  const bool happened = copy_out() || combine_own();
  if (happened) run_.window().wake_others();
  done_ = awaited_to_end() == nobody_awaited;
  return happened;
}

bool SingleCopyPath::combine_own() {
  if (awaited_to_combine() != nobody_awaited) return false;
  const Part part = run_.exchange.part(combined_, run_.self);
  if (part.bytes != 0 && !combine_part(part)) return true;
  stage_counts_.publish(Stage::combined, ++combined_);
  return true;
}

// Block by block, so that what is fetched is combined while it is in the cache.
bool SingleCopyPath::combine_part(const Part& part) {
  std::byte* const result =
      part.goes_to(run_.self) ? run_.binding.output + part.target_offset : result_slot(run_.self, combined_);
  const std::size_t block = fetch_block_bytes(run_.window().staging_bytes(), run_.members);
  for (std::size_t at = 0; at < part.bytes; at += block) {
    const std::size_t bytes = std::min(block, part.bytes - at);
    const std::size_t offset = part.source_offset + at;
    // Each begins with its right neighbour: the kernel lets only so many read one process's memory at a time.
    for (std::uint32_t step = 1; step < run_.members; ++step) {
      const std::uint32_t member = (run_.self + step) % run_.members;
      if (!fetch(member, run_.announcements[member].input_at + offset, fetch_slot(member), bytes)) return false;
    }
    run_.sources.clear();
    for (std::uint32_t member = 0; member < run_.members; ++member) {
      run_.sources.push_back(member == run_.self ? run_.binding.input + offset : fetch_slot(member));
    }
    std::byte* const target = result + at;
    combine(run_.binding.reduction, run_.sources, {&target, 1}, bytes);
  }
  return true;
}

bool SingleCopyPath::copy_out() {
  const bool combines = run_.exchange.combines();
  if (awaited_to_copy_out() != nobody_awaited) return false;
  for (std::uint32_t step = 0; step < run_.exchange.parts(); ++step) {
    const std::uint32_t index = run_.exchange.index_in_turn(run_.self, step);
    const Part part = run_.exchange.part(copied_out_, index);
    if (part.bytes == 0 || !part.goes_to(run_.self) || (combines && index == run_.self)) continue;
    if (!copy_part(part, index)) return true;
  }
  stage_counts_.publish(Stage::copied_out, ++copied_out_);
  return true;
}

// A combined part lies in the output of the member that combined it, if it goes there, else in its staging area.
bool SingleCopyPath::copy_part(const Part& part, std::uint32_t index) {
  std::byte* const to = run_.binding.output + part.target_offset;
  const auto fetch_from = [&](std::uint32_t member, std::uintptr_t from) {
    return fetch(member, from, to, part.bytes);
  };
  if (run_.exchange.combines() && part.goes_to(index)) {
    return fetch_from(index, run_.announcements[index].output_at + part.target_offset);
  }
  if (!run_.exchange.combines() && part.source != run_.self) {
    return fetch_from(part.source, run_.announcements[part.source].input_at + part.source_offset);
  }
  const std::byte* const from =
      run_.exchange.combines() ? result_slot(index, copied_out_) : run_.binding.input + part.source_offset;
  if (from != to) copy_bytes(to, from, part.bytes);
  return true;
}

}  // namespace hocket
