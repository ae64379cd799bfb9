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
      : into_(into), run_numbers_(schedule.shape.chunks, unnamed), runs_(runs_of(schedule)) {
    for (Step& step : schedule.steps) {
      if (step.peer != no_rank) step.peer = rename_peer(step.peer);
      visit_ranges(step, [&](Range& range) { rename_chunks(range); });
    }
    schedule.shape.rank = 0;
  }

 private:
  Rank rename_peer(Rank peer) {
    const auto [known, is_new] = peer_numbers_.try_emplace(peer, static_cast<Rank>(into_.peers.size()));
    if (is_new) into_.peers.push_back(peer);
    return known->second;
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
  std::unordered_map<Rank, Rank> peer_numbers_;  // of large groups, most ranks speak with few
  std::vector<std::uint32_t> run_numbers_;       // by the run's first chunk
  const std::vector<std::uint32_t> runs_;
};

std::uint64_t hash_of_schedule(const Schedule& schedule) {
  Hash hash;
  hash.add(schedule.scratch_cells);
  for (const Step& step : schedule.steps) {
    hash.add(static_cast<std::uint64_t>(step.kind) << 32 | static_cast<std::uint32_t>(step.peer));
    hash.add(std::uint64_t{step.left.chunk} << 32 | step.to.chunk);
  }
  return hash.value();
}

// Writes programs, each once.
class Writer {
 public:
  explicit Writer(const ProgramsWanted& wanted) : wanted_(wanted) {}

  Result<RankProgram> write(Rank rank) {
    RankProgram made;
    Schedule schedule = wanted_.algorithm->write(rank, wanted_.size, wanted_.root, wanted_.topology);
    const Renaming renaming(schedule, made);
    if (!wanted_.chunks_differ) made.chunks.clear();
    made.chunks.shrink_to_fit();  // N chunks on each of N ranks

    const std::uint64_t hash = hash_of_schedule(schedule);
    const auto [begin, end] = known_.equal_range(hash);
    const auto found = std::find_if(begin, end, [&](const auto& entry) { return entry.second.schedule == schedule; });
    if (found != end) {
      made.shared = found->second.program;
      return made;
    }
    steps_ += schedule.steps.size() * wanted_.interleave;
    if (steps_ > steps_max) {
      return Status(Code::out_of_resources,
                    fmt::format("{} {} on {} ranks has more than {} million different steps; take fewer ranks",
                                wanted_.algorithm->name, name_of(wanted_.algorithm->collective), wanted_.size,
                                steps_max / 1'000'000));
    }
    made.shared = share(schedule, wanted_);
    known_.emplace(hash, Known{std::move(schedule), made.shared});
    return made;
  }

 private:
  struct Known {
    Schedule schedule;
    std::shared_ptr<const SharedProgram> program;
  };

  const ProgramsWanted& wanted_;
  std::unordered_multimap<std::uint64_t, Known> known_;
  std::size_t steps_ = 0;
};

// Whether `other` does what `own` does, with peers `turn` ranks further on.
bool are_alike(const RankProgram& own, const RankProgram& other, Rank turn, Rank size) {
  return own.shared == other.shared &&
         std::ranges::equal(own.peers, other.peers, [&](Rank a, Rank b) { return (a + turn) % size == b; });
}

}  // namespace

Result<std::vector<RankProgram>> write_programs(const ProgramsWanted& wanted) {
  Writer writer(wanted);
  std::vector<RankProgram> programs;
  const Rank ranks = wanted.ranks == 0 ? wanted.size : wanted.ranks;
  for (Rank rank = 0; rank < ranks; ++rank) {
    Result<RankProgram> made = writer.write(rank);
    if (!made) return made.status();
    programs.push_back(std::move(*made));
  }
  for (const Rank turn : {ranks, wanted.size - ranks}) {
    for (Rank rank = 0; rank < ranks && turn < wanted.size && turn > 0; ++rank) {
      const Result<RankProgram> other = writer.write(turn + rank);
      if (!other) return other.status();
      if (are_alike(programs[static_cast<std::size_t>(rank)], *other, turn, wanted.size)) continue;
      return Status(Code::internal,
                    fmt::format("{} {}: rank {} does not do what rank {} does; its entry's symmetry is wrong",
                                wanted.algorithm->name, name_of(wanted.algorithm->collective), turn + rank, rank));
    }
  }
  return programs;
}

std::size_t messages_of(const std::vector<RankProgram>& programs) {
  std::size_t messages = 0;
  for (const RankProgram& rank : programs) {
    for (const Channel& channel : rank.shared->program.channels) {
      if (channel.outgoing) messages += channel.instructions.size();
    }
  }
  return messages;
}

}  // namespace hocket
