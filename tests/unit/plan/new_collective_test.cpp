// A collective that the library lacks: a row of its own and an algorithm of its own, and nothing else. The verifier,
// the simulator and the executor must know what to do with it from the row alone.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "src/exec/reduce.hpp"
#include "src/exec/schedule_operation.hpp"
#include "src/plan/plan.hpp"
#include "src/plan/simulate.hpp"
#include "src/plan/verify.hpp"
#include "tests/unit/exec/loopback_member.hpp"

namespace hocket {
namespace {

// Rank r gets block r of the reduction of the ranks 0 … r.
constexpr CollectiveInfo scan_scatter{.collective = Collective{200},
                                      .name = "scan_scatter",
                                      .chunks = Chunks::blocks,
                                      .input = everything,
                                      .output = own_chunk,
                                      .combines = Combines::ranks_up_to_own};

// Every rank sends the higher ones their blocks; each sums what it gets from the left.
void direct_scan_scatter(const Shape& shape, ScheduleBuilder& builder) {
  for (Rank to = shape.rank + 1; to < shape.size; ++to) builder.send(to, builder.input(to));
  const Range own = builder.input(shape.rank);
  if (shape.rank == 0) return builder.copy(own, builder.output(0));
  const Range sum = builder.scratch(own);
  builder.recv(0, sum);
  for (Rank from = 1; from < shape.rank; ++from) builder.recv_reduce(from, sum, sum);
  builder.reduce(sum, own, builder.output(shape.rank));
}

// As the one above, but combines its own operand first.
void swapped_scan_scatter(const Shape& shape, ScheduleBuilder& builder) {
  for (Rank to = shape.rank + 1; to < shape.size; ++to) builder.send(to, builder.input(to));
  Range sum = builder.input(shape.rank);
  if (shape.rank == 0) return builder.copy(sum, builder.output(0));
  for (Rank from = 0; from < shape.rank; ++from) {
    builder.recv_reduce(from, sum, builder.output(shape.rank));
    sum = builder.output(shape.rank);
  }
}

// What another collective means.
void whole_reduce_scatter(const Shape& shape, ScheduleBuilder& builder) {
  find_algorithm(Collective::reduce_scatter, "direct")->function(shape, builder);
}

constexpr Algorithm direct{.name = "direct",
                           .collective = scan_scatter,
                           .chunking = Chunking::one,
                           .function = direct_scan_scatter,
                           .summary = "1 round",
                           .in_rank_order = true};

Algorithm written_by(ScheduleFunction function) {
  Algorithm algorithm = direct;
  algorithm.function = function;
  algorithm.in_rank_order = false;
  return algorithm;
}

TEST(NewCollective, IsProven) {
  for (Rank size = 1; size <= 17; ++size) {
    const std::vector<VerifyCase> cases = verify_cases(direct, size);
    ASSERT_GE(cases.size(), 8U);
    for (const VerifyCase& tried : cases) {
      const Result<Verified> result = verify(direct, size, tried.root, tried.options);
      ASSERT_TRUE(result.ok()) << result.status().message();
    }
  }
}

TEST(NewCollective, IsRefusedWhereItsScheduleMeansSomethingElse) {
  const Result<Verified> swapped = verify(written_by(swapped_scan_scatter), 3, 0);
  ASSERT_FALSE(swapped.ok());
  EXPECT_NE(swapped.status().message().find("not in rank order"), std::string::npos) << swapped.status().message();
  const Result<Verified> whole = verify(written_by(whole_reduce_scatter), 3, 0);
  ASSERT_FALSE(whole.ok());
  EXPECT_NE(whole.status().message().find("scan_scatter on 3 ranks"), std::string::npos) << whole.status().message();
}

TEST(NewCollective, IsSimulated) {
  constexpr Rank ranks = 6;
  const Result<Network> network = Network::make({.ranks = ranks, .link = {.latency = 1e-6, .wire_per_byte = 1e-9}});
  ASSERT_TRUE(network.ok()) << network.status().message();
  const Result<Simulation> run =
      simulate(*network, {.algorithm = &direct, .count = 1000, .element_bytes = 4, .slice_bytes = 1000});
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(run->bytes, 15U * 4000U) << "each rank sends the higher ones a block";
  EXPECT_EQ(run->bytes_max, 5U * 4000U);
}

class NewCollectiveMember : public exec_testing::LoopbackMember {
 public:
  using LoopbackMember::LoopbackMember;
  Status run(const std::vector<std::int64_t>& input, std::int64_t* output, std::size_t count, Placement placement) {
    auto operation = std::make_shared<ScheduleOperation>(make_plan({.algorithm = &direct,
                                                                    .rank = rank_,
                                                                    .size = size_,
                                                                    .count = count,
                                                                    .element_bytes = sizeof(std::int64_t),
                                                                    .slice_bytes = 4096,
                                                                    .placement = placement}),
                                                         context_);
    operation->bind({.input = reinterpret_cast<const std::byte*>(input.data()),
                     .output = reinterpret_cast<std::byte*>(output),
                     .signature = {.collective = scan_scatter.collective, .dtype = DataType::int64, .count = count},
                     .reduction = reduction_for(DataType::int64, ReduceOp::sum, size_),
                     .timeout = std::chrono::seconds(60)});
    const std::shared_ptr<Operation> running = std::move(operation);
    return LoopbackMember::run(running);
  }
};

std::int64_t new_collective_value(Rank rank, std::size_t index) {
  return static_cast<std::int64_t>(index) * 1000 + rank * rank;
}

TEST(NewCollective, RunsOverLoopback) {
  constexpr Rank size = 5;
  const auto hub = std::make_shared<LoopbackHub>(size);
  const auto members = exec_testing::members_of<NewCollectiveMember>(*hub);
  for (const std::size_t count : {0U, 1U, 700U, 10'001U}) {
    for (const Placement placement : {Placement::out_of_place, Placement::in_place}) {
      std::vector<std::thread> threads;
      for (Rank rank = 0; rank < size; ++rank) {
        threads.emplace_back([&, rank] {
          const std::size_t own = static_cast<std::size_t>(rank) * count;
          std::vector<std::int64_t> input(size * count), apart(count, -1);
          for (std::size_t i = 0; i < input.size(); ++i) input[i] = new_collective_value(rank, i);
          std::int64_t* const output = placement == Placement::in_place ? input.data() + own : apart.data();
          const Status status = members[static_cast<std::size_t>(rank)]->run(input, output, count, placement);
          ASSERT_TRUE(status.ok()) << status.message();
          for (std::size_t i = 0; i < count; ++i) {
            std::int64_t sum = 0;
            for (Rank from = 0; from <= rank; ++from) sum += new_collective_value(from, own + i);
            ASSERT_EQ(output[i], sum) << "element " << i << " of " << count << " at rank " << rank;
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
    }
  }
  for (auto& member : members) member->leave();
}

}  // namespace
}  // namespace hocket
