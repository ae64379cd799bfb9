#include "src/plan/shared_programs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "src/base/hash.hpp"

namespace hocket {
namespace {

constexpr std::size_t steps_max = 10'000'000;  // about 2 GB of programs
constexpr std::uint32_t unnamed = UINT32_MAX;

std::shared_ptr<const SharedProgram> share(const Schedule& schedule, const ProgramsWanted& wanted) {
  auto made = std::make_shared<SharedProgram>();
  made->program = compile(schedule, wanted.placement, wanted.interleave);
  const Program& program = made->program;
  std::uint32_t total = 0;
  for (const Instruction& instruction : program.instructions) {
    made->first_before.push_back(total);
    total += instruction.waits;
  }
  made->first_before.push_back(total);
  made->before.resize(total);
  std::vector<std::uint32_t> next(made->first_before);
  for (std::uint32_t index = 0; index < program.instructions.size(); ++index) {
    for (const std::uint32_t later : program.successors_of(program.instructions[index])) {
      made->before[next[later]++] = index;
    }
  }
  return made;
}

// The ranges that this kind of step has.
template <typename Visit>
void visit_ranges(Step& step, const Visit& visit) {
  if (step.kind != StepKind::recv) visit(step.left);
  if (step.kind == StepKind::reduce || step.waits_for_right) visit(step.right);
  if (step.kind != StepKind::send) visit(step.to);
}

// For each chunk the first one of its run: ranges that overlap are of one run, so that new numbers for runs hide no
// overlap.
std::vector<std::uint32_t> runs_of(Schedule& schedule) {
  std::vector<std::int32_t> change(schedule.shape.chunks + 1);  // of the ranges that have a chunk and the next one, too
  for (Step& step : schedule.steps) {
    visit_ranges(step, [&](const Range& range) {
      ++change[range.chunk];
      --change[range.chunk + range.count - 1];
    });
  }
  std::vector<std::uint32_t> first(schedule.shape.chunks);
  std::int32_t ranges = 0;
  for (std::uint32_t chunk = 0; chunk < schedule.shape.chunks; ++chunk) {
    first[chunk] = ranges > 0 ? first[chunk - 1] : chunk;
    ranges += change[chunk];
  }
  return first;
}

// Gives peers and runs of chunks numbers in the order of their first use.
class Renaming {
 public:
  Renaming(Schedule& schedule, RankProgram& into)
      : into_(into),
        peer_numbers_(static_cast<std::size_t>(schedule.shape.size), unnamed),
        run_numbers_(schedule.shape.chunks, unnamed),
        runs_(runs_of(schedule)) {
    for (Step& step : schedule.steps) {
      if (step.peer != no_rank) step.peer = rename_peer(step.peer);
      visit_ranges(step, [&](Range& range) { rename_chunks(range); });
    }
    schedule.shape.rank = 0;
  }

 private:
  Rank rename_peer(Rank peer) {
    std::uint32_t& number = peer_numbers_[static_cast<std::size_t>(peer)];
    if (number == unnamed) {
      number = static_cast<std::uint32_t>(into_.peers.size());
      into_.peers.push_back(peer);
    }
    return static_cast<Rank>(number);
  }

  void rename_chunks(Range& range) {
    const std::uint32_t run = runs_[range.chunk];
    std::uint32_t& number = run_numbers_[run];
    if (number == unnamed) {
      number = static_cast<std::uint32_t>(into_.chunks.size());
      for (std::uint32_t chunk = run; chunk < runs_.size() && runs_[chunk] == run; ++chunk) {
        into_.chunks.push_back(chunk);
      }
    }
    range.chunk = number + (range.chunk - run);
  }

  RankProgram& into_;
  std::vector<std::uint32_t> peer_numbers_, run_numbers_;  // by the run's first chunk
  const std::vector<std::uint32_t> runs_;
};

std::uint64_t hash_of(const Schedule& schedule) {
  Hash hash;
  hash.add(schedule.scratch_cells);
  for (const Step& step : schedule.steps) {
    hash.add(static_cast<std::uint64_t>(step.kind) << 32 | static_cast<std::uint32_t>(step.peer));
    hash.add(std::uint64_t{step.left.chunk} << 32 | step.to.chunk);
  }
  return hash.value();
}

}  // namespace

Result<std::vector<RankProgram>> write_programs(const ProgramsWanted& wanted) {
  struct Known {
    Schedule schedule;
    std::shared_ptr<const SharedProgram> program;
  };
  std::unordered_multimap<std::uint64_t, Known> known;
  std::vector<RankProgram> programs(static_cast<std::size_t>(wanted.size));
  std::size_t steps = 0;
  for (Rank rank = 0; rank < wanted.size; ++rank) {
    RankProgram& made = programs[static_cast<std::size_t>(rank)];
    Schedule schedule = wanted.algorithm->write(rank, wanted.size, wanted.root, wanted.topology);
    const Renaming renaming(schedule, made);
    if (!wanted.chunks_differ) made.chunks.clear();
    made.chunks.shrink_to_fit();  // N chunks on each of N ranks

    const std::uint64_t hash = hash_of(schedule);
    const auto [begin, end] = known.equal_range(hash);
    const auto found = std::find_if(begin, end, [&](const auto& entry) { return entry.second.schedule == schedule; });
    if (found != end) {
      made.shared = found->second.program;
      continue;
    }
    steps += schedule.steps.size() * wanted.interleave;
    if (steps > steps_max) {
      return Status(Code::out_of_resources,
                    fmt::format("{} {} on {} ranks has more than {} million different steps; take fewer ranks",
                                wanted.algorithm->name, name_of(wanted.algorithm->collective), wanted.size,
                                steps_max / 1'000'000));
    }
    made.shared = share(schedule, wanted);
    known.emplace(hash, Known{std::move(schedule), made.shared});
  }
  return programs;
}

}  // namespace hocket
