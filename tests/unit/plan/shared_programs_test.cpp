// Programs that ranks share say what each rank's own would, and there are few of them.
#include "src/plan/shared_programs.hpp"

#include <gtest/gtest.h>

#include <set>

namespace hocket {
namespace {

std::vector<RankProgram> programs_of(const Algorithm& algorithm, Rank size, bool chunks_differ) {
  auto made = write_programs({.algorithm = &algorithm, .size = size, .chunks_differ = chunks_differ});
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? std::move(*made) : std::vector<RankProgram>();
}

// The rank's step that a shared one stands for.
Step step_of(const RankProgram& rank, Step step) {
  if (step.peer != no_rank) step.peer = rank.peers[static_cast<std::size_t>(step.peer)];
  if (step.kind != StepKind::recv) step.left.chunk = rank.chunk(step.left.chunk);
  if (step.kind == StepKind::reduce || step.waits_for_right) step.right.chunk = rank.chunk(step.right.chunk);
  if (step.kind != StepKind::send) step.to.chunk = rank.chunk(step.to.chunk);
  return step;
}

TEST(SharedPrograms, AreEachRanksOwnByOtherNames) {
  for (const Algorithm& algorithm : catalog()) {
    if (algorithm.collective == Collective::send || algorithm.collective == Collective::recv) continue;
    for (const Rank size : {2, 5, 12, 16}) {
      const std::vector<RankProgram> programs = programs_of(algorithm, size, true);
      for (Rank rank = 0; rank < static_cast<Rank>(programs.size()); ++rank) {
        const RankProgram& shared = programs[static_cast<std::size_t>(rank)];
        const Program& program = shared.shared->program;
        const Program own = compile(algorithm.write(rank, size), Placement::out_of_place, 1);
        SCOPED_TRACE(testing::Message() << algorithm.name << " " << name_of(algorithm.collective) << ", rank " << rank
                                        << " of " << size);
        EXPECT_EQ(program.successors, own.successors);
        ASSERT_EQ(program.instructions.size(), own.instructions.size());
        for (std::size_t i = 0; i < own.instructions.size(); ++i) {
          EXPECT_EQ(step_of(shared, program.instructions[i].step), own.instructions[i].step) << "step " << i;
          EXPECT_EQ(program.instructions[i].waits, own.instructions[i].waits) << "step " << i;
        }
      }
    }
  }
}

std::size_t different(std::string_view algorithm, Rank size) {
  std::set<const SharedProgram*> found;
  for (const RankProgram& rank : programs_of(*find_algorithm(Collective::allreduce, algorithm), size, false)) {
    EXPECT_EQ(rank.chunks.capacity(), 0U) << "N chunks on each of N ranks are much memory";
    found.insert(rank.shared.get());
  }
  return found.size();
}

TEST(SharedPrograms, AreFew) {
  EXPECT_EQ(different("ring", 1024), 1U);
  EXPECT_EQ(different("torus", 1024), 32U);  // one for each column, for it begins with another chunk of its row
  EXPECT_EQ(different("torus", 256), 16U);
}

}  // namespace
}  // namespace hocket
