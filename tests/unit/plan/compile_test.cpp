#include <gtest/gtest.h>

#include <random>
#include <set>

#include "src/plan/program.hpp"

namespace hocket {
namespace {

ScheduleBuilder script_of(std::uint32_t chunks = 4) {
  return ScheduleBuilder({.collective = Collective::allreduce, .rank = 0, .size = 4, .root = 0, .chunks = chunks});
}

std::set<std::pair<std::uint32_t, std::uint32_t>> edges_of(const Program& program) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> edges;
  std::vector<std::uint32_t> waits(program.instructions.size());
  for (std::uint32_t index = 0; index < program.instructions.size(); ++index) {
    for (const std::uint32_t later : program.successors_of(program.instructions[index])) {
      EXPECT_TRUE(edges.insert({index, later}).second) << index << " -> " << later << " stands twice";
      ++waits[later];
    }
  }
  for (std::size_t index = 0; index < waits.size(); ++index) {
    EXPECT_EQ(waits[index], program.instructions[index].waits) << "instruction " << index;
  }
  return edges;
}

using Edges = std::set<std::pair<std::uint32_t, std::uint32_t>>;

Edges edges_of(ScheduleBuilder builder, Placement placement = Placement::out_of_place, std::uint32_t interleave = 1) {
  return edges_of(compile(std::move(builder).take(), placement, interleave));
}

TEST(Compile, ReadsWaitForTheWriteBeforeThem) {
  ScheduleBuilder builder = script_of();
  builder.recv(1, builder.output(0));
  builder.send(2, builder.output(0));
  builder.send(3, builder.output(0));
  builder.send(3, builder.output(1));
  EXPECT_EQ(edges_of(std::move(builder)), (Edges{{0, 1}, {0, 2}}));
}

TEST(Compile, WritesWaitForTheReadsBeforeThem) {
  ScheduleBuilder builder = script_of();
  const Range cell = builder.scratch(builder.input(0));
  builder.copy(builder.input(0), cell);
  builder.send(1, cell);
  builder.send(2, cell);
  builder.recv(3, cell);
  EXPECT_EQ(edges_of(std::move(builder)), (Edges{{0, 1}, {0, 2}, {0, 3}, {1, 3}, {2, 3}}));
}

TEST(Compile, WritesWaitForTheWriteBeforeThem) {
  ScheduleBuilder builder = script_of();
  builder.recv(1, builder.output(2));
  builder.recv(2, builder.output(2));
  EXPECT_EQ(edges_of(std::move(builder)), (Edges{{0, 1}}));
}

TEST(Compile, NothingWaitsForReadsFromBeforeTheLastWrite) {
  ScheduleBuilder builder = script_of();
  builder.send(1, builder.output(2));
  builder.recv(2, builder.output(2));
  builder.recv(3, builder.output(2));
  EXPECT_EQ(edges_of(std::move(builder)), (Edges{{0, 1}, {1, 2}}));
}

TEST(Compile, AReductionOnItselfWaitsForOthersOnly) {
  ScheduleBuilder builder = script_of();
  builder.recv_reduce(1, builder.input(0), builder.output(0));
  builder.recv_reduce(2, builder.output(0), builder.output(0));
  EXPECT_EQ(edges_of(std::move(builder)), (Edges{{0, 1}}));
}

TEST(Compile, RangesOfSeveralChunksMeetWhereTheyOverlap) {
  ScheduleBuilder builder = script_of();
  builder.recv(1, builder.output(0u, 2u));
  builder.recv(1, builder.output(2u, 2u));
  builder.send(2, builder.output(1u, 2u));
  builder.send(2, builder.output(3));
  EXPECT_EQ(edges_of(std::move(builder)), (Edges{{0, 2}, {1, 2}, {1, 3}}));
}

TEST(Compile, ScratchMeetsByCellAndNotByChunk) {
  ScheduleBuilder builder = script_of();
  const Range first = builder.scratch(builder.input(0)), second = builder.scratch(builder.input(0));
  builder.recv(1, first);
  builder.recv(1, second);
  builder.recv(1, ScheduleBuilder::at(first, builder.input(3)));
  EXPECT_EQ(edges_of(std::move(builder)), (Edges{{0, 2}}));
}

TEST(Compile, InputAndOutputAreOneOnlyInPlace) {
  const auto builder = [] {
    ScheduleBuilder made = script_of();
    made.send(1, made.input(0));
    made.recv(1, made.output(0));
    made.recv(1, made.output(1));
    return made;
  };
  EXPECT_EQ(edges_of(builder(), Placement::out_of_place), Edges{});
  EXPECT_EQ(edges_of(builder(), Placement::in_place), (Edges{{0, 1}}));
}

TEST(Compile, CopiesOntoThemselvesVanish) {
  ScheduleBuilder builder = script_of();
  builder.copy(builder.input(1), builder.output(1));
  builder.copy(builder.input(0), builder.output(1));
  const Schedule schedule = std::move(builder).take();
  EXPECT_EQ(compile(schedule, Placement::out_of_place, 1).instructions.size(), 2u);
  const Program program = compile(schedule, Placement::in_place, 1);
  ASSERT_EQ(program.instructions.size(), 1u);
  EXPECT_EQ(program.instructions[0].step, schedule.steps[1]);
}

TEST(Compile, PiecesStandInARowAndDoNotMeet) {
  ScheduleBuilder builder = script_of();
  const Range cell = builder.scratch(builder.input(0));
  builder.recv(1, cell);
  builder.reduce(builder.input(0), cell, builder.output(0));
  const Program program = compile(std::move(builder).take(), Placement::out_of_place, 3);
  ASSERT_EQ(program.instructions.size(), 6u);
  for (std::uint32_t index = 0; index < 6; ++index) EXPECT_EQ(program.instructions[index].piece, index % 3);
  EXPECT_EQ(edges_of(program), (Edges{{0, 3}, {1, 4}, {2, 5}}));
  EXPECT_EQ(program.scratch_cells, 1u);
  ASSERT_EQ(program.channels.size(), 1u);
  EXPECT_EQ(program.channels[0].instructions, (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST(Compile, ChannelsKeepProgramOrderByPeerAndDirection) {
  ScheduleBuilder builder = script_of();
  builder.send(1, builder.input(0));
  builder.recv(1, builder.output(0));
  builder.send(2, builder.input(1));
  builder.send(1, builder.input(2));
  builder.recv_reduce(1, builder.input(1), builder.output(1));
  Schedule schedule = std::move(builder).take();
  schedule.steps.push_back(schedule.steps[0]);
  const Program program = compile(schedule, Placement::out_of_place, 1);
  struct Expected {
    Rank peer;
    bool outgoing;
    std::vector<std::uint32_t> instructions;
  };
  const Expected expected[] = {{1, true, {0, 3, 5}}, {1, false, {1, 4}}, {2, true, {2}}};
  ASSERT_EQ(program.channels.size(), std::size(expected));
  for (std::uint32_t index = 0; index < std::size(expected); ++index) {
    const Channel& channel = program.channels[index];
    EXPECT_EQ(channel.peer, expected[index].peer);
    EXPECT_EQ(channel.outgoing, expected[index].outgoing);
    EXPECT_EQ(channel.instructions, expected[index].instructions);
    for (const std::uint32_t member : channel.instructions) {
      EXPECT_EQ(program.instructions[member].channel, index);
    }
  }
}

// ---- any schedule: two steps of one piece that meet, one of them writing, are ordered
// --------------------------------

struct Access {
  std::uint64_t reads = 0, writes = 0;  // bit sets: input or output chunks, then cells
};

constexpr std::uint32_t chunks = 6, cells = 5;

std::uint64_t bits_of(const Range& range, Placement placement) {
  std::uint32_t first = range.chunk;
  if (range.space == Space::output && placement == Placement::out_of_place) first += chunks;
  if (range.space == Space::scratch) first = 2 * chunks + range.cell;
  return ((std::uint64_t{1} << range.count) - 1) << first;
}

Access access_of(const Step& step, Placement placement) {
  switch (step.kind) {
    case StepKind::send: return {bits_of(step.left, placement), 0};
    case StepKind::recv: return {0, bits_of(step.to, placement)};
    case StepKind::recv_reduce:
    case StepKind::copy: return {bits_of(step.left, placement), bits_of(step.to, placement)};
    case StepKind::reduce: break;
  }
  return {bits_of(step.left, placement) | bits_of(step.right, placement), bits_of(step.to, placement)};
}

Schedule random_schedule(std::mt19937& random) {
  const auto draw = [&](std::uint32_t below) { return static_cast<std::uint32_t>(random() % below); };
  Schedule schedule{.shape = {.size = 4, .chunks = chunks}, .scratch_cells = cells, .steps = {}};
  for (std::uint32_t index = 0; index < 40; ++index) {
    Step step{.kind = static_cast<StepKind>(draw(5)), .peer = static_cast<Rank>(1 + draw(3))};
    const std::uint32_t count = 1 + draw(2);
    for (Range* range : {&step.left, &step.right, &step.to}) {
      *range = {static_cast<Space>(draw(3)), 0, draw(chunks - count + 1), count};
      if (range->space == Space::scratch) range->cell = static_cast<std::uint16_t>(draw(cells - count + 1));
    }
    schedule.steps.push_back(step);
  }
  return schedule;
}

TEST(Compile, OrdersEveryPairOfStepsThatMeetAndNoOther) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    const Placement placement = round % 2 == 0 ? Placement::in_place : Placement::out_of_place;
    const Program program = compile(random_schedule(random), placement, 1 + round % 3);
    const std::size_t total = program.instructions.size();
    std::vector<std::vector<bool>> before(total, std::vector<bool>(total));  // before[later][earlier]
    const auto meet = [&](std::size_t a, std::size_t b) {
      if (program.instructions[a].piece != program.instructions[b].piece) return false;
      const Access x = access_of(program.instructions[a].step, placement);
      const Access y = access_of(program.instructions[b].step, placement);
      return ((x.writes & (y.reads | y.writes)) | (y.writes & x.reads)) != 0;
    };
    for (const auto& [earlier, later] : edges_of(program)) {
      ASSERT_LT(earlier, later);
      ASSERT_TRUE(meet(earlier, later)) << "an edge for nothing";
      before[later][earlier] = true;
    }
    for (std::size_t later = 0; later < total; ++later) {
      for (std::size_t middle = 0; middle < later; ++middle) {
        if (!before[later][middle]) continue;
        for (std::size_t earlier = 0; earlier < middle; ++earlier) {
          if (before[middle][earlier]) before[later][earlier] = true;
        }
      }
    }
    for (std::size_t later = 0; later < total; ++later) {
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        ASSERT_TRUE(before[later][earlier] || !meet(earlier, later)) << earlier << " and " << later << " may race";
      }
    }
  }
}

}  // namespace
}  // namespace hocket
