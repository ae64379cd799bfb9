// Planted faults: each must be caught, and the message must say what is wrong.
#include "src/plan/verify.hpp"
#include "tests/unit/plan/verify_steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using testing::HasSubstr;

struct Neighbours {
  explicit Neighbours(const Shape& shape)
      : left((shape.rank + shape.size - 1) % shape.size), right((shape.rank + 1) % shape.size) {}
  Rank left, right;
};

// A ring allreduce whose allgather begins `shift` chunks off and makes `steps` steps.
void ring(const Shape& shape, ScheduleBuilder& builder, Rank shift, Rank steps) {
  const Neighbours ring(shape);
  for (Rank step = 0; step < shape.size - 1; ++step) {
    const Rank outgoing = shape.rank - step - 1;
    builder.send(ring.right, step == 0 ? builder.input(outgoing) : builder.output(outgoing));
    builder.recv_reduce(ring.left, builder.input(outgoing - 1), builder.output(outgoing - 1));
  }
  for (Rank step = 0; step < steps; ++step) {
    builder.send(ring.right, builder.output(shape.rank - step + shift));
    builder.recv(ring.left, builder.output(shape.rank - step - 1 + shift));
  }
}

TEST(Verify, AcceptsTheRingThatTheFaultsAreMadeFrom) {
  for (const Placement placement : {Placement::out_of_place, Placement::in_place}) {
    const Result<Verified> result = verify_steps(
        Collective::allreduce, 5, 5, [](const Shape& shape, ScheduleBuilder& builder) { ring(shape, builder, 0, 4); },
        {.placement = placement});
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->steps, 5u * 16);
    EXPECT_EQ(result->sends_max, 8u);
    EXPECT_EQ(result->rounds, 8u);
  }
}

TEST(Verify, CatchesARingThatIsOffByOne) {
  const auto wrong = [](const Shape& shape, ScheduleBuilder& builder) { ring(shape, builder, 1, 4); };
  for (const Placement placement : {Placement::out_of_place, Placement::in_place}) {
    EXPECT_THAT(fault(Collective::allreduce, 5, 5, wrong, placement), HasSubstr("expected chunk 0 of all ranks"));
  }
}

TEST(Verify, CatchesAMissingChunk) {
  const auto wrong = [](const Shape& shape, ScheduleBuilder& builder) { ring(shape, builder, 0, 3); };
  EXPECT_THAT(fault(Collective::allreduce, 5, 5, wrong), HasSubstr("expected chunk"));
  EXPECT_THAT(fault(Collective::allreduce, 5, 5, wrong), HasSubstr("rank 0 ends with"));
}

TEST(Verify, CatchesAChunkThatIsNeverWritten) {
  const auto wrong = [](const Shape& shape, ScheduleBuilder& builder) {
    if (shape.rank == 0) builder.copy(builder.input(0), builder.output(0));
  };
  EXPECT_THAT(fault(Collective::broadcast, 3, 1, wrong), HasSubstr("rank 1 ends with nothing in output chunk 0"));
}

TEST(Verify, CatchesACycleOfReceives) {
  // Each receives before it passes on: nobody begins.
  const auto wrong = [](const Shape& shape, ScheduleBuilder& builder) {
    const Neighbours ring(shape);
    const Range cell = builder.scratch(builder.input(0));
    builder.recv(ring.left, cell);
    builder.send(ring.right, cell);
    builder.copy(builder.input(0), builder.output(0));
  };
  const std::string message = fault(Collective::allreduce, 3, 1, wrong);
  EXPECT_THAT(message, HasSubstr("deadlock"));
  EXPECT_THAT(message, HasSubstr("(recv from rank 2: cell 0 (chunk 0)) waits for rank 2"));
}

// Exchanges with the partner straight in the output.
void doubling_without_scratch(const Shape& shape, ScheduleBuilder& builder) {
  Range have = builder.input(0);
  for (Rank bit = 1; bit < shape.size; bit *= 2) {
    builder.send(shape.rank ^ bit, have);
    builder.recv_reduce(shape.rank ^ bit, have, builder.output(0));
    have = builder.output(0);
  }
}

TEST(Verify, CatchesRecursiveDoublingWithoutScratch) {
  for (const Rank size : {2, 4, 8, 16}) {
    EXPECT_THAT(fault(Collective::allreduce, size, 1, doubling_without_scratch, Placement::in_place),
                HasSubstr("deadlock with synchronous sends"));
  }
  // Out of place, one round is fine; from the second on the output is sent and received into.
  EXPECT_TRUE(verify_steps(Collective::allreduce, 2, 1, doubling_without_scratch).ok());
  EXPECT_THAT(fault(Collective::allreduce, 4, 1, doubling_without_scratch),
              HasSubstr("deadlock with synchronous sends"));
}

TEST(Verify, CatchesDoubleCounting) {
  const auto wrong = [](const Shape& shape, ScheduleBuilder& builder) {
    const Rank peer = 1 - shape.rank;
    const Range cell = builder.scratch(builder.input(0));
    builder.send(peer, builder.input(0));
    builder.recv_reduce(peer, builder.input(0), cell);
    builder.reduce(builder.input(0), cell, builder.output(0));
  };
  EXPECT_THAT(fault(Collective::allreduce, 2, 1, wrong), HasSubstr("counts rank"));
}

TEST(Verify, CatchesAContributionThatIsLeftOut) {
  const auto wrong = [](const Shape& shape, ScheduleBuilder& builder) {
    if (shape.rank == 0) {
      builder.recv_reduce(1, builder.input(0), builder.output(0));
    } else if (shape.rank == 1) {
      builder.send(0, builder.input(0));
    }
  };
  EXPECT_THAT(fault(Collective::reduce, 3, 1, wrong), HasSubstr("rank 2 is missing"));
}

TEST(Verify, CatchesScratchThatIsReadBeforeItIsWritten) {
  const auto wrong = [](const Shape&, ScheduleBuilder& builder) {
    builder.copy(builder.scratch(builder.input(0)), builder.output(0));
  };
  EXPECT_THAT(fault(Collective::allreduce, 1, 1, wrong), HasSubstr("reads cell 0 (chunk 0), where nothing"));
}

TEST(Verify, CatchesScratchThatHoldsAnotherChunk) {
  const auto wrong = [](const Shape&, ScheduleBuilder& builder) {
    const Range cell = builder.scratch(builder.input(0));
    builder.copy(builder.input(0), cell);
    builder.copy(ScheduleBuilder::at(cell, builder.input(1)), builder.output(1));
  };
  EXPECT_THAT(fault(Collective::allreduce, 1, 2, wrong), HasSubstr("which holds chunk 0"));
}

TEST(Verify, CatchesTreesThatDifferBetweenRanks) {
  // Rank 2 adds from its own end of the row: the same sum on paper, other bits in floating point.
  const auto wrong = [](const Shape& shape, ScheduleBuilder& builder) {
    Range parts[3];
    for (Rank rank = 0; rank < 3; ++rank) {
      if (rank != shape.rank) builder.send(rank, builder.input(0));
    }
    for (Rank rank = 0; rank < 3; ++rank) {
      parts[rank] = rank == shape.rank ? builder.input(0) : builder.scratch(builder.input(0));
      if (rank != shape.rank) builder.recv(rank, parts[rank]);
    }
    if (shape.rank == 2) std::swap(parts[0], parts[2]);
    const Range sum = builder.scratch(builder.input(0));
    builder.reduce(parts[0], parts[1], sum);
    builder.reduce(sum, parts[2], builder.output(0));
  };
  EXPECT_THAT(fault(Collective::allreduce, 3, 1, wrong), HasSubstr("ranks 0 and 2 sum chunk 0 in different orders"));
}

TEST(Verify, AcceptsOperandsThatAreExchanged) {
  const auto steps = [](const Shape& shape, ScheduleBuilder& builder) {
    const Rank peer = 1 - shape.rank;
    builder.send(peer, builder.input(0));
    const Range cell = builder.scratch(builder.input(0));
    builder.recv(peer, cell);
    builder.reduce(builder.input(0), cell, builder.output(0));
  };
  EXPECT_TRUE(verify_steps(Collective::allreduce, 2, 1, steps).ok());
}

TEST(Verify, CatchesWritesToTheInput) {
  const auto wrong = [](const Shape&, ScheduleBuilder& builder) {
    builder.reduce(builder.input(0), builder.input(0), builder.input(0));
  };
  EXPECT_THAT(fault(Collective::allreduce, 1, 1, wrong), HasSubstr("writes the input"));
}

TEST(Verify, CatchesMessagesThatNobodyReceives) {
  const auto wrong = [](const Shape& shape, ScheduleBuilder& builder) {
    builder.copy(builder.input(0), builder.output(0));
    if (shape.rank == 0) builder.send(1, builder.input(0));
  };
  EXPECT_THAT(fault(Collective::allreduce, 2, 1, wrong),
              HasSubstr("rank 0 sends 1 messages to rank 1, which receives 0"));
}

TEST(Verify, CatchesMessagesThatNobodySends) {
  const auto wrong = [](const Shape& shape, ScheduleBuilder& builder) {
    shape.rank == 0 ? builder.copy(builder.input(0), builder.output(0)) : builder.recv(0, builder.output(0));
  };
  EXPECT_THAT(fault(Collective::broadcast, 2, 1, wrong), HasSubstr("nothing answers rank 1, step 0"));
}

TEST(Verify, CatchesMessagesOfOtherChunksThanExpected) {
  const auto wrong = [](const Shape& shape, ScheduleBuilder& builder) {
    if (shape.rank == 0) {
      builder.copy(builder.input(0u, 2u), builder.output(0u, 2u));
      builder.send(1, builder.input(0));
      builder.send(1, builder.input(1));
    } else {
      builder.recv(0, builder.output(1));
      builder.recv(0, builder.output(0));
    }
  };
  EXPECT_THAT(fault(Collective::broadcast, 2, 2, wrong), HasSubstr("expects other chunks"));
}

TEST(Verify, CatchesRangesAndPeersThatDoNotExist) {
  const auto beyond = [](const Shape&, ScheduleBuilder& builder) {
    builder.copy(builder.input(0u, 3u), builder.output(0u, 3u));
  };
  EXPECT_THAT(fault(Collective::allreduce, 1, 2, beyond), HasSubstr("beyond the 2 chunks"));
  const auto nobody = [](const Shape& shape, ScheduleBuilder& builder) { builder.send(shape.size, builder.input(0)); };
  EXPECT_THAT(fault(Collective::allreduce, 2, 1, nobody), HasSubstr("names the peer 2, which is not another rank"));
  const auto itself = [](const Shape& shape, ScheduleBuilder& builder) { builder.send(shape.rank, builder.input(0)); };
  EXPECT_THAT(fault(Collective::allreduce, 2, 1, itself), HasSubstr("which is not another rank"));
  const auto other_output = [](const Shape&, ScheduleBuilder& builder) {
    builder.copy(builder.input(1), builder.output(1));
  };
  EXPECT_THAT(fault(Collective::reduce_scatter, 2, 2, other_output), HasSubstr("this rank has no output chunk 1"));
  const auto other_input = [](const Shape&, ScheduleBuilder& builder) { builder.send(1, builder.input(1)); };
  EXPECT_THAT(fault(Collective::allgather, 2, 2, other_input), HasSubstr("this rank has no input chunk 1"));
  const auto other_cell = [](const Shape&, ScheduleBuilder& builder) {
    builder.copy(builder.input(0), {Space::scratch, 2, 0, 1});
  };
  EXPECT_THAT(fault(Collective::allreduce, 1, 1, other_cell), HasSubstr("beyond the 0 scratch cells"));
}

TEST(Verify, CatchesStepsThatMixChunks) {
  const auto copied = [](const Shape&, ScheduleBuilder& builder) { builder.copy(builder.input(0), builder.output(1)); };
  EXPECT_THAT(fault(Collective::allreduce, 1, 2, copied), HasSubstr("puts a chunk in another's place"));
  const auto combined = [](const Shape&, ScheduleBuilder& builder) {
    builder.reduce(builder.input(0), builder.input(1), builder.output(0));
  };
  EXPECT_THAT(fault(Collective::allreduce, 1, 2, combined), HasSubstr("combines different chunks"));
}

TEST(Verify, CatchesReductionsInCollectivesThatHaveNone) {
  const auto wrong = [](const Shape&, ScheduleBuilder& builder) {
    builder.reduce(builder.input(0), builder.input(0), builder.output(0));
  };
  EXPECT_THAT(fault(Collective::broadcast, 1, 1, wrong), HasSubstr("combines, in a collective that has no reduction"));
}

TEST(Verify, CatchesABarrierThatForgetsARank) {
  // A dissemination barrier that passes on only what it received last.
  const auto wrong = [](const Shape& shape, ScheduleBuilder& builder) {
    Range heard = builder.scratch(builder.output(0)), next = builder.scratch(builder.output(0));
    for (Rank distance = 1; 2 * distance < shape.size; distance *= 2) {
      builder.send((shape.rank + distance) % shape.size, heard);
      builder.recv_reduce((shape.rank + shape.size - distance) % shape.size, heard, next);
      std::swap(heard, next);
    }
  };
  EXPECT_THAT(fault(Collective::barrier, 5, 1, wrong),
              HasSubstr("rank 0 leaves the barrier without having heard of rank 1"));
}

TEST(Verify, CatchesAlltoallInPlace) {
  const Result<Verified> result =
      verify(*find_algorithm(Collective::alltoall, "pairwise"), 4, 0, {.placement = Placement::in_place});
  EXPECT_FALSE(result.ok());
}

TEST(Verify, CatchesRunsOfBlocksThatTheCatalogDoesNotMention) {
  const ScheduleFunction function = [](const Shape& shape, ScheduleBuilder& builder) {
    if (shape.rank == 0) {
      builder.recv(1, builder.output(1u, 1u));
      builder.copy(builder.input(0), builder.output(0));
      builder.send(1, builder.output(0u, 2u));
    } else {
      builder.send(0, builder.input(1));
      builder.recv(0, builder.output(0u, 2u));
    }
  };
  Algorithm algorithm{"runs", Collective::allgather, Chunking::one_per_rank, function, ""};
  const Result<Verified> result = verify(algorithm, 2, 0);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.status().message(), HasSubstr("`multi_block`"));
  algorithm.multi_block = true;
  EXPECT_TRUE(verify(algorithm, 2, 0).ok());
}

TEST(Verify, NamesAlgorithmRanksAndPlacement) {
  const ScheduleFunction function = [](const Shape&, ScheduleBuilder&) {};
  const Result<Verified> result =
      verify({"lazy", Collective::broadcast, Chunking::one, function, ""}, 3, 2, {.placement = Placement::in_place});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.status().message(),
              HasSubstr("lazy broadcast on 3 ranks, root 2, in place: rank 0 ends with nothing"));
}

}  // namespace
}  // namespace hocket
