#include "src/plan/shared_programs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

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

// Gives peers and chunks numbers in the order of their first use.
class Renaming {
 public:
  explicit Renaming(Schedule& schedule, RankProgram& into)
      : into_(into),
        peer_numbers_(static_cast<std::size_t>(schedule.shape.size), unnamed),
        chunk_numbers_(schedule.shape.chunks, unnamed) {
    // Ranges of several chunks overlap in ways that new names would hide.
    const bool single = std::ranges::all_of(schedule.steps, [](const Step& step) {
      return step.left.count <= 1 && step.right.count <= 1 && step.to.count <= 1;
    });
    for (Step& step : schedule.steps) {
      if (step.peer != no_rank) step.peer = rename_peer(step.peer);
      if (single) rename_chunks(step);
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

  void rename_chunk(Range& range) {
    std::uint32_t& number = chunk_numbers_[range.chunk];
    if (number == unnamed) {
      number = static_cast<std::uint32_t>(into_.chunks.size());
      into_.chunks.push_back(range.chunk);
    }
    range.chunk = number;
  }

  // Only the ranges that this kind of step has.
  void rename_chunks(Step& step) {
    if (step.kind != StepKind::recv) rename_chunk(step.left);
    if (step.kind == StepKind::reduce || step.waits_for_right) rename_chunk(step.right);
    if (step.kind != StepKind::send) rename_chunk(step.to);
  }

  RankProgram& into_;
  std::vector<std::uint32_t> peer_numbers_, chunk_numbers_;
};

std::uint64_t hash_of(const Schedule& schedule) {
  std::uint64_t hash = schedule.scratch_cells;
  const auto mix = [&hash](std::uint64_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15u + (hash >> 29); };
  for (const Step& step : schedule.steps) {
    mix(static_cast<std::uint64_t>(step.kind) << 32 | static_cast<std::uint32_t>(step.peer));
    mix(std::uint64_t{step.left.chunk} << 32 | step.to.chunk);
  }
  return hash;
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
    if (!wanted.chunks_differ) made.chunks = {};

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
