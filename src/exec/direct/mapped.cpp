#include "src/exec/direct/mapped.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/exec/direct/combine.hpp"

namespace hocket {
namespace {

constexpr std::uint64_t streaming_bytes_min = std::uint64_t{4} << 20;  // measured: from here on, out of place

}  // namespace

MappedPath::MappedPath(DirectRun& run, const Announcer& announcer)
    : run_(run), announcer_(announcer), stage_counts_(run), shared_(run, stage_counts_), next_(run.self) {}

bool MappedPath::advance(Counters& counters) {
  if (own_parts_done_) return done_ = all_finished();
  if (announcer_.someone_has_withdrawn()) return false;
  const auto number = next_part();
  if (!number) {
    if (!run_.use.setting.shares_work) {
      stage_counts_.publish(Stage::parts_done, 1);
      run_.window().wake_others();
    }
    return own_parts_done_ = true;
  }
  if (!buffers_mapped_ && !map_buffers()) return true;
  const Part part = run_.part(*number);
  if (part.bytes != 0) move(part, counters);
  if (announcer_.someone_has_withdrawn()) return false;  // its memory may have been used for something else meanwhile
  if (run_.use.setting.shares_work) shared_.finish();
  return true;
}

// Where work is not shared, part p of every round is member p's.
std::optional<std::size_t> MappedPath::next_part() {
  if (run_.use.setting.shares_work) return shared_.claim();
  const std::size_t number = std::exchange(next_, next_ + run_.members);
  return number < run_.parts() ? std::optional(number) : std::nullopt;
}

bool MappedPath::all_finished() const {
  return run_.use.setting.shares_work ? shared_.all_finished() : stage_counts_.everyone_reached(Stage::parts_done, 1);
}

void MappedPath::move(const Part& part, Counters& counters) {
  std::vector<const std::byte*>& sources = run_.sources;
  std::vector<std::byte*>& targets = run_.targets;
  sources.clear();
  targets.clear();
  for (std::uint32_t member = 0; member < run_.members; ++member) {
    if (part.comes_from(member)) sources.push_back(run_.inputs[member] + part.source_offset);
    if (!part.goes_to(member)) continue;
    targets.push_back(run_.outputs[member] + part.target_offset);
    if (member != run_.self) counters.bytes_sent += part.bytes;
  }
  const bool in_place = std::any_of(targets.begin(), targets.end(), [&](const std::byte* target) {
    return std::find(sources.begin(), sources.end(), target) != sources.end();
  });
  const bool stream = !in_place && run_.exchange.output_bytes_max() >= streaming_bytes_min;
  combine(run_.binding.reduction, sources, targets, part.bytes, stream ? targets.size() : 0);
  counters.steps += 1;
}

// Not before this member has a part to do: once the others have done them all, their memory may be gone.
bool MappedPath::map_buffers() {
  for (std::uint32_t member = 0; member < run_.members; ++member) {
    const Announcement& theirs = run_.announcements[member];
    const std::size_t in = run_.exchange.input_bytes(member), out = run_.exchange.output_bytes(member);
    if (member == run_.self) {
      run_.inputs[member] = run_.binding.input;
      run_.outputs[member] = run_.binding.output;
      continue;
    }
    run_.inputs[member] = in == 0 ? nullptr : run_.window().map(member, theirs.input, in);
    run_.outputs[member] = out == 0 ? nullptr : run_.window().map(member, theirs.output, out);
    if ((in != 0 && run_.inputs[member] == nullptr) || (out != 0 && run_.outputs[member] == nullptr)) {
      const Rank rank = run_.window().rank_of(member);
      run_.fail(Status(Cause{.code = Code::invalid_argument,
                             .message = fmt::format("the registered memory that rank {} passed to {} is gone: free or "
                                                    "unregister a buffer only when no call uses it any more",
                                                    rank, describe(run_.compared.signature())),
                             .peer = rank,
                             .operation = {}}));
      return false;
    }
  }
  return buffers_mapped_ = true;
}

}  // namespace hocket
