#include "src/exec/direct/staged.hpp"

#include <algorithm>

#include "src/base/copy_bytes.hpp"
#include "src/base/copy_streaming.hpp"
#include "src/exec/direct/combine.hpp"

namespace hocket {

StagedPath::StagedPath(DirectRun& run)
    : run_(run),
      stage_counts_(run),
      before_copying_out_(stages_of(DirectPath::staged, run.exchange.combines()).back()),
      streams_output_(run.output_exceeds_caches()) {}

// ---- the staging areas ----------------------------------------------------------------------------------------------

std::byte* StagedPath::slot(std::uint32_t member, std::size_t round, std::uint32_t place) const {
  const std::size_t first = round % direct::rounds_in_flight * (run_.exchange.parts_per_source() + 1);
  return run_.window().staging(member) + direct::payload_bytes + (first + place) * run_.exchange.grain();
}

std::byte* StagedPath::input_slot(std::uint32_t member, std::size_t round, std::uint32_t part) const {
  return slot(member, round, run_.exchange.place_at_source(part));
}

std::byte* StagedPath::result_slot(std::uint32_t member, std::size_t round) const {
  return slot(member, round, run_.exchange.parts_per_source());
}

// ---- who is waited for ----------------------------------------------------------------------------------------------

AwaitedByStage StagedPath::awaited_to_copy_in() const {
  if (copied_in_ == run_.exchange.rounds()) return {};
  return stage_counts_.awaited_for_slot(copied_in_, run_.exchange.combines() ? Stage::combined : Stage::copied_out);
}

AwaitedByStage StagedPath::awaited_to_combine() const {
  if (!run_.exchange.combines() || combined_ == copied_in_) return {};
  return stage_counts_.awaited(Stage::copied_in, combined_ + 1) |
         stage_counts_.awaited_for_slot(combined_, Stage::copied_out);
}

AwaitedByStage StagedPath::awaited_to_copy_out() const {
  if (copied_out_ == (run_.exchange.combines() ? combined_ : copied_in_)) return {};
  return stage_counts_.awaited(before_copying_out_, copied_out_ + 1);
}

MemberSet StagedPath::awaited_members() const {
  return awaited_by({awaited_to_copy_in(), awaited_to_combine(), awaited_to_copy_out()});
}

// ---- the stages -----------------------------------------------------------------------------------------------------

bool StagedPath::has_done_its_part(std::uint32_t member) const {
  return stage_counts_.reached(member, Stage::copied_out, std::min(copied_out_ + 1, run_.exchange.rounds()));
}

// The last stage first: that frees the most.
bool StagedPath::advance(Counters& counters) {
  const bool happened = copy_out() || combine_own() || copy_in(counters);
  if (happened) run_.window().wake_others();
  return happened;
}

bool StagedPath::copy_in(Counters& counters) {
  const Exchange& exchange = run_.exchange;
  if (awaited_to_copy_in() != nobody_awaited) return false;
  for (std::uint32_t index = 0; index < exchange.parts(); ++index) {
    const Part part = exchange.part(copied_in_, index);
    const std::uint32_t reader = exchange.combines() ? index : part.target;
    if (part.bytes == 0 || !part.comes_from(run_.self) || reader == run_.self) continue;
    run_.put(input_slot(run_.self, copied_in_, index), part.source_offset, part.bytes, reader);
    counters.bytes_sent += part.bytes;
    if (copied_in_ == 0) ++counters.steps;
  }
  stage_counts_.publish(Stage::copied_in, ++copied_in_);
  return true;
}

bool StagedPath::combine_own() {
  if (awaited_to_combine() != nobody_awaited) return false;
  const Part part = run_.exchange.part(combined_, run_.self);
  if (part.bytes != 0) {
    run_.sources.clear();
    run_.targets.clear();
    for (std::uint32_t member = 0; member < run_.members; ++member) {
      run_.sources.push_back(member == run_.self ? run_.binding.input + part.source_offset
                                                 : input_slot(member, combined_, run_.self));
    }
    std::size_t streamed = 0;
    const auto add = [&](std::byte* target, bool streams) {
      const std::size_t behind = streams ? 0 : streamed;
      run_.targets.insert(run_.targets.end() - static_cast<std::ptrdiff_t>(behind), target);
      streamed += streams ? 1 : 0;
    };
    // Of two operands the sum goes straight to where it belongs: streaming it would be a pass of its own.
    if (part.goes_to(run_.self)) add(run_.binding.output + part.target_offset, streams_output_ && run_.members > 2);
    if (part.target != run_.self) add(result_slot(run_.self, combined_), run_.streams(part.bytes, part.target));
    combine(run_.binding.reduction, run_.sources, run_.targets, part.bytes, streamed);
  }
  stage_counts_.publish(Stage::combined, ++combined_);
  return true;
}

bool StagedPath::copy_out() {
  const Exchange& exchange = run_.exchange;
  const bool combines = exchange.combines();
  if (awaited_to_copy_out() != nobody_awaited) return false;
  for (std::uint32_t step = 0; step < exchange.parts(); ++step) {
    const std::uint32_t index = exchange.index_in_turn(run_.self, step);
    const Part part = exchange.part(copied_out_, index);
    if (part.bytes == 0 || !part.goes_to(run_.self) || (combines && index == run_.self)) continue;
    std::byte* const to = run_.binding.output + part.target_offset;
    const std::byte* const from = combines                   ? result_slot(index, copied_out_)
                                  : part.source == run_.self ? run_.binding.input + part.source_offset
                                                             : input_slot(part.source, copied_out_, index);
    if (from != to) streams_output_ ? copy_streaming(to, from, part.bytes) : copy_bytes(to, from, part.bytes);
  }
  stage_counts_.publish(Stage::copied_out, ++copied_out_);
  return true;
}

}  // namespace hocket
