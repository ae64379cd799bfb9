// What the verifier says of sums in rank order.
#include "src/plan/verify.hpp"
#include "tests/unit/plan/verify_steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace hocket {
namespace {

using testing::HasSubstr;
using Sum = void (*)(ScheduleBuilder& builder, Range own, const std::array<Range, 3>& received, Range to);

// How rank 0 sums what it receives from ranks 1, 2 and 3.
using Sum = void (*)(ScheduleBuilder& builder, Range own, const std::array<Range, 3>& received, Range to);

bool is_in_rank_order(Sum sum) {
  const Steps steps = [&](const Shape& shape, ScheduleBuilder& builder) {
    const Range input = builder.input(0);
    if (shape.rank != 0) return builder.send(0, input);
    std::array<Range, 3> received;
    for (Rank rank = 1; rank < 4; ++rank) builder.recv(rank, received[rank - 1] = builder.scratch(input));
    sum(builder, input, received, builder.output(0));
  };
  EXPECT_TRUE(verify_steps(Collective::reduce, 4, 1, steps).ok());
  const Result<Verified> result = verify_steps(Collective::reduce, 4, 1, steps, {.in_rank_order = true});
  if (result.ok()) return true;
  EXPECT_THAT(result.status().message(), HasSubstr("rank 0 does not sum chunk 0 from left to right in rank order"));
  return false;
}

TEST(RankOrder, IsThatOfSumsFromLeftToRight) {
  EXPECT_TRUE(is_in_rank_order([](ScheduleBuilder& builder, Range own, const std::array<Range, 3>& received, Range to) {
    builder.reduce(own, received[0], to);
    builder.reduce(to, received[1], to);
    builder.reduce(to, received[2], to);
  }));
}

TEST(RankOrder, IsNotThatOfOtherRanksFirst) {
  EXPECT_FALSE(
      is_in_rank_order([](ScheduleBuilder& builder, Range own, const std::array<Range, 3>& received, Range to) {
        builder.reduce(own, received[1], to);
        builder.reduce(to, received[0], to);
        builder.reduce(to, received[2], to);
      }));
}

TEST(RankOrder, IsNotThatOfPairs) {
  EXPECT_FALSE(
      is_in_rank_order([](ScheduleBuilder& builder, Range own, const std::array<Range, 3>& received, Range to) {
        builder.reduce(received[1], received[2], received[1]);
        builder.reduce(own, received[0], to);
        builder.reduce(to, received[1], to);
      }));
}

TEST(RankOrder, IsNotThatOfOperandsOnTheWrongSide) {
  EXPECT_FALSE(
      is_in_rank_order([](ScheduleBuilder& builder, Range own, const std::array<Range, 3>& received, Range to) {
        builder.reduce(own, received[0], to);
        builder.reduce(received[1], to, to);
        builder.reduce(to, received[2], to);
      }));
}

// A message that is added may stand on either side, as the step says.
TEST(RankOrder, KnowsSwappedMessages) {
  for (const bool swapped : {false, true}) {
    const Steps steps = [&](const Shape& shape, ScheduleBuilder& builder) {
      if (shape.rank == 0) {
        builder.send(1, builder.input(0));
        return builder.recv(1, builder.output(0));
      }
      if (swapped) {
        builder.recv_reduce_swapped(0, builder.input(0), builder.output(0));
      } else {
        builder.recv_reduce(0, builder.input(0), builder.output(0));
      }
      builder.send(0, builder.output(0));
    };
    EXPECT_EQ(verify_steps(Collective::allreduce, 2, 1, steps, {.in_rank_order = true}).ok(), swapped);
  }
}

TEST(RankOrder, OfTheCatalogIsProvenWithoutBeingAskedFor) {
  Algorithm ring = *find_algorithm(Collective::allreduce, "ring");
  ASSERT_TRUE(verify(ring, 4, 0).ok());
  ring.in_rank_order = true;
  const Result<Verified> result = verify(ring, 4, 0);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.status().message(), HasSubstr("in rank order"));
}

}  // namespace
}  // namespace hocket
