// Which sums of a schedule may be wide, and what the verifier and the layout make of wide cells.
#include "src/plan/wide_sums.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/plan/plan.hpp"
#include "src/plan/text.hpp"
#include "tests/unit/plan/verify_steps.hpp"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Schedule written(Collective collective, std::string_view name, Rank rank, Rank size) {
  return find_algorithm(collective, name)->write(rank, size);
}

std::vector<std::string> texts(const Schedule& schedule) {
  std::vector<std::string> lines;
  for (const Step& step : schedule.steps) lines.push_back(describe(step));
  return lines;
}

TEST(WideSums, OfOneRankGrowInOneCellAndEndInTheOutput) {
  const Schedule wide = with_wide_sums(written(Collective::allreduce, "linear", 0, 4));
  EXPECT_EQ(wide.wide_cells, 1U);
  EXPECT_THAT(texts(wide),
              ElementsAre("recv_reduce from rank 1: wide cell 0 (chunk 0) = input 0 + message",
                          "recv_reduce from rank 2: wide cell 0 (chunk 0) = wide cell 0 (chunk 0) + message",
                          "recv_reduce from rank 3: output 0 = wide cell 0 (chunk 0) + message",
                          "send to rank 1: output 0", "send to rank 2: output 0", "send to rank 3: output 0"));
}

// What partners hold must be what they were sent.
TEST(WideSums, ThatLeaveAreNotWide) {
  for (const char* name : {"ring", "recursive_doubling", "ordered_chain", "rabenseifner"}) {
    for (Rank rank = 0; rank < 8; ++rank) {
      const Schedule schedule = written(Collective::allreduce, name, rank, 8);
      EXPECT_EQ(with_wide_sums(schedule), schedule) << name << ", rank " << rank;
    }
  }
}

TEST(WideSums, ChangeNothingThatTravels) {
  for (const Algorithm& algorithm : catalog()) {
    for (Rank rank = 0; rank < 5 && !algorithm.collective->is_message(); ++rank) {
      const Schedule before = algorithm.write(rank, 5), after = with_wide_sums(before);
      ASSERT_EQ(before.steps.size(), after.steps.size());
      for (std::size_t i = 0; i < before.steps.size(); ++i) {
        const Step &a = before.steps[i], &b = after.steps[i];
        EXPECT_TRUE(a.kind == b.kind && a.peer == b.peer && a.swapped == b.swapped) << algorithm.name;
        EXPECT_TRUE(a.right == b.right) << algorithm.name;
        EXPECT_EQ(a.left.count, b.left.count);
        if (a.kind == StepKind::send) {
          EXPECT_EQ(a.left, b.left) << algorithm.name;
        }
      }
    }
  }
}

// A step that adds to two sums at once takes both from wide cells, or neither.
TEST(WideSums, AreWideForAllOfAStepOrNotAtAll) {
  const Shape shape{.collective = Collective::allreduce, .rank = 0, .size = 2, .chunks = 2};
  ScheduleBuilder builder(shape);
  builder.recv_reduce(1, builder.input(0U, 1U), builder.output(0U, 1U));
  builder.recv_reduce(1, builder.input(1U, 1U), builder.output(1U, 1U));
  builder.send(1, builder.output(1U, 1U));  // so the second is not
  builder.recv_reduce(1, builder.output(0U, 2U), builder.output(0U, 2U));
  const Schedule schedule = std::move(builder).take();
  EXPECT_EQ(with_wide_sums(schedule), schedule);
}

TEST(WideSums, OfSeveralChunksLieInCellsThatAdjoin) {
  const Schedule wide = with_wide_sums(written(Collective::reduce_scatter, "linear", 0, 3));
  EXPECT_EQ(wide.wide_cells, 3U);
  EXPECT_EQ(wide.steps[0].to, (Range{Space::wide, 0, 0, 3}));
  EXPECT_EQ(wide.steps[1].left, (Range{Space::wide, 0, 0, 3}));
  EXPECT_EQ(wide.steps[1].to, (Range{Space::scratch, 0, 0, 3}));
}

// Where half of the ranks round and half do not, results differ.
TEST(WideSums, AreProvenToBeAlikeOnAllRanks) {
  const auto exchange = [](bool keeps_wide) {
    return [keeps_wide](const Shape& shape, ScheduleBuilder& builder) {
      const Range input = builder.input(0), output = builder.output(0);
      const Rank size = shape.size;
      for (Rank peer = 0; peer < size; ++peer) {
        if (peer != shape.rank) builder.send(peer, input);
      }
      const Range cells[] = {builder.scratch(input), builder.scratch(input)};
      const Rank a = shape.rank == 0 ? 1 : 0, b = shape.rank == 2 ? 1 : 2;
      builder.recv(a, cells[0]);
      builder.recv(b, cells[1]);
      Range parts[3];
      parts[a] = cells[0];
      parts[b] = cells[1];
      parts[shape.rank] = input;
      const Range sum = builder.scratch(input);
      builder.reduce(parts[0], parts[1], sum);
      if (!keeps_wide && shape.rank == 2) {  // an odd one out: its sum is copied, so it is rounded
        const Range copy = builder.scratch(input);
        builder.copy(sum, copy);
        return builder.reduce(copy, parts[2], output);
      }
      builder.reduce(sum, parts[2], output);
    };
  };
  const VerifyOptions narrow{.rounding = Rounding::wide_sums};
  EXPECT_TRUE(verify_steps(Collective::allreduce, 3, 1, exchange(true), narrow).ok());
  EXPECT_TRUE(verify_steps(Collective::allreduce, 3, 1, exchange(false)).ok());
  const Result<Verified> differs = verify_steps(Collective::allreduce, 3, 1, exchange(false), narrow);
  ASSERT_FALSE(differs.ok());
  EXPECT_THAT(differs.status().message(), HasSubstr("round it differently"));
}

TEST(WideSums, AreCountedByTheVerifier) {
  const Algorithm& linear = *find_algorithm(Collective::allreduce, "linear");
  EXPECT_EQ(verify(linear, 8, 0)->roundings_max, 0U);
  EXPECT_EQ(verify(linear, 8, 0, {.rounding = Rounding::each_sum})->roundings_max, 7U);
  const Result<Verified> wide = verify(linear, 8, 0, {.rounding = Rounding::wide_sums});
  EXPECT_EQ(wide->roundings_max, 1U);
  EXPECT_EQ(wide->wide_cells_max, 1U);
}

TEST(WideCells, AreForSumsAlone) {
  const Range cell{Space::wide, 0, 0, 1};
  const auto misuse = [&](auto step) {
    return fault(Collective::allreduce, 2, 1, [&](const Shape& shape, ScheduleBuilder& builder) {
      if (shape.rank == 0) step(builder);
    });
  };
  constexpr const char* other_use = "uses a wide cell for something else";
  EXPECT_THAT(misuse([&](ScheduleBuilder& builder) { builder.send(1, cell); }), HasSubstr(other_use));
  EXPECT_THAT(misuse([&](ScheduleBuilder& builder) { builder.recv(1, cell); }), HasSubstr(other_use));
  EXPECT_THAT(misuse([&](ScheduleBuilder& builder) { builder.copy(cell, builder.output(0)); }), HasSubstr(other_use));
  EXPECT_THAT(misuse([&](ScheduleBuilder& builder) { builder.reduce(builder.input(0), cell, builder.output(0)); }),
              HasSubstr(other_use));
  EXPECT_THAT(misuse([&](ScheduleBuilder& builder) { builder.recv_reduce(1, builder.input(0), cell); }),
              HasSubstr("goes beyond the 0 wide cells"));
}

// Of two slices side by side, each of which has its own.
TEST(WideCells, HaveRoomForFloat32BesideWhatElseThereIs) {
  const auto plan = make_plan({.algorithm = find_algorithm(Collective::allreduce, "one_shot"),
                               .rank = 1,
                               .size = 4,
                               .count = 200,
                               .element_bytes = 2,
                               .slice_bytes = 200,
                               .wide_sums = true});
  ASSERT_EQ(plan->program.wide_cells, 1U);
  const Range first{Space::scratch, 0, 0, 1}, last{Space::scratch, 2, 0, 1}, wide{Space::wide, 0, 0, 1};
  EXPECT_EQ(plan->extent(first, 0, 0), (Extent{0, 200}));
  EXPECT_EQ(plan->extent(last, 0, 0), (Extent{400, 200}));
  EXPECT_EQ(plan->extent(wide, 0, 0), (Extent{640, 200})) << "bytes are those of a message";
  EXPECT_EQ(plan->piece_bytes, 640U + 448U);
  EXPECT_EQ(plan->extent(wide, 1, 0), (Extent{plan->piece_bytes + 640, 200}));
  EXPECT_EQ(plan->scratch_bytes, 2 * plan->piece_bytes);
}

}  // namespace
}  // namespace hocket
