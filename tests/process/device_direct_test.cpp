// Ranks that share a GPU, or have several that reach each other: one rank on each does its share of everyone's work on
// the device, whose bits are those of the host in deterministic mode. The GPUs are doubles in host memory.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "tests/process/support/device_rank.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

constexpr Collective collectives[] = {Collective::allreduce, Collective::reduce,    Collective::reduce_scatter,
                                      Collective::allgather, Collective::broadcast, Collective::scatter,
                                      Collective::gather,    Collective::alltoall};
constexpr const char* direct_gpu = "direct GPU";

struct Placement {
  int ranks, gpus;
};
void PrintTo(const Placement& placement, std::ostream* out) {
  *out << placement.ranks << "_ranks_on_" << placement.gpus;
}

class OnGpus : public ::testing::TestWithParam<Placement> {};

// Ranks take turns on the GPUs, which all reach each other.
testing_support::HostGpuOptions one_of(int gpus, int rank) {
  testing_support::HostGpuOptions options{.number = rank % gpus, .delay = std::chrono::microseconds(100)};
  for (int other = 0; other < gpus; ++other) {
    if (other != options.number) options.reaches.push_back(other);
  }
  return options;
}

// Small data that goes one way goes over the host, and so does an alltoall in place.
bool goes_over_host(const DeviceCase& what, int size) {
  const CollectiveInfo& info = info_of(what.collective);
  if (info.transposes() && what.in_place) return true;
  const std::size_t block = what.count * size_of(what.dtype);
  return info.has_root() && (info.is_vector() ? block : block * static_cast<std::size_t>(size)) < 100'000;
}

TEST_P(OnGpus, EveryCollectiveHasTheBitsOfTheHost) {
  const Placement placement = GetParam();
  run_ranks(placement.ranks, [&](Child& child) {
    DeviceRank rank(one_of(placement.gpus, child.index));
    ASSERT_TRUE(rank);
    int number = 0;
    for (const Collective collective : collectives) {
      for (const bool in_place : {false, true}) {
        for (const auto& [dtype, op, count] : {std::tuple{DataType::float32, ReduceOp::sum, std::size_t{1}},
                                               std::tuple{DataType::bfloat16, ReduceOp::avg, std::size_t{70'001}},
                                               std::tuple{DataType::float64, ReduceOp::sum, std::size_t{60'000}},
                                               std::tuple{DataType::uint8, ReduceOp::max, std::size_t{300'007}}}) {
          const DeviceCase what{.collective = collective,
                                .dtype = dtype,
                                .op = op,
                                .count = count,
                                .root = info_of(collective).has_root() ? ++number % child.size : 0,
                                .in_place = in_place};
          const std::string algorithm = expect_same_as_on_host(rank, what);
          if (!goes_over_host(what, child.size)) {
            EXPECT_EQ(algorithm, direct_gpu) << name_of(collective) << " of " << count << " " << name_of(dtype);
          }
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(, OnGpus,
                         ::testing::Values(Placement{2, 1}, Placement{3, 1}, Placement{4, 1}, Placement{7, 1},
                                           Placement{2, 2}, Placement{3, 3}, Placement{5, 2}),
                         ::testing::PrintToStringParamName());

TEST(OneGpu, BuffersMayLieInTheMidstOfAnAllocation) {
  run_ranks(2, [](Child& child) {
    DeviceRank rank;
    ASSERT_TRUE(rank);
    const hocket_call_options options = rank.options();
    const Bytes values = some_elements(DataType::int32, 100, static_cast<std::uint64_t>(child.index));
    Bytes contents(1000, std::byte{1});
    std::copy(values.begin(), values.end(), contents.begin() + 200);
    const DeviceBuffer memory(rank, contents);
    Bytes expected = values;
    ASSERT_EQ(hocket_allreduce(expected.data(), expected.data(), 100, HOCKET_INT32, HOCKET_MAX, rank.comm(), nullptr,
                               nullptr),
              HOCKET_OK);
    ASSERT_EQ(hocket_allreduce(memory.at() + 200, memory.at() + 600, 100, HOCKET_INT32, HOCKET_MAX, rank.comm(),
                               &options, nullptr),
              HOCKET_OK)
        << hocket_last_error();
    std::copy(expected.begin(), expected.end(), contents.begin() + 600);
    EXPECT_EQ(memory.read(), contents);
  });
}

// ---- streams --------------------------------------------------------------------------------------------------------

TEST(OneGpu, ACallIsCompleteBeforeItsWorkIsDone) {
  run_ranks(2, [](Child& child) {
    DeviceRank rank;
    ASSERT_TRUE(rank);
    alignas(4096) std::byte memory[4096] = {};
    GpuWord& gate = *reinterpret_cast<GpuWord*>(memory);
    ASSERT_TRUE(rank.gpu().use_words(memory, sizeof memory).ok());
    {
      const hocket_call_options options = rank.options();
      const DeviceBuffer values(rank, some_elements(DataType::int32, 1000, static_cast<std::uint64_t>(child.index)));
      ASSERT_TRUE(rank.gpu().wait_until(rank.stream(), gate, 1).ok());
      for (int turn = 0; turn < 3; ++turn) {
        ASSERT_EQ(
            hocket_allreduce(values.at(), values.at(), 1000, HOCKET_INT32, HOCKET_SUM, rank.comm(), &options, nullptr),
            HOCKET_OK)
            << hocket_last_error();
      }
      gate = 1;
      Bytes expected = some_elements(DataType::int32, 1000, static_cast<std::uint64_t>(child.index));
      for (int turn = 0; turn < 3; ++turn) {
        ASSERT_EQ(hocket_allreduce(expected.data(), expected.data(), 1000, HOCKET_INT32, HOCKET_SUM, rank.comm(),
                                   nullptr, nullptr),
                  HOCKET_OK);
      }
      EXPECT_EQ(values.read(), expected);
    }
    ASSERT_TRUE(rank.gpu().forget_words(memory).ok());
  });
}

TEST(OneGpu, DestroyingACommunicatorWaitsForItsWork) {
  run_ranks(2, [](Child& child) {
    DeviceRank rank({.delay = std::chrono::milliseconds(20)});
    ASSERT_TRUE(rank);
    const hocket_call_options options = rank.options();
    const DeviceBuffer values(rank, some_elements(DataType::int32, 1000, static_cast<std::uint64_t>(child.index)));
    Bytes expected = some_elements(DataType::int32, 1000, static_cast<std::uint64_t>(child.index));
    ASSERT_EQ(hocket_allreduce(expected.data(), expected.data(), 1000, HOCKET_INT32, HOCKET_SUM, rank.comm(), nullptr,
                               nullptr),
              HOCKET_OK);
    ASSERT_EQ(
        hocket_allreduce(values.at(), values.at(), 1000, HOCKET_INT32, HOCKET_SUM, rank.comm(), &options, nullptr),
        HOCKET_OK)
        << hocket_last_error();
    rank.destroy_comm();
    EXPECT_EQ(values.read(), expected);
  });
}

TEST(OneGpu, WorksAndPersistentCallsFollowTheStream) {
  run_ranks(3, [](Child& child) {
    DeviceRank rank({.delay = std::chrono::milliseconds(1)});
    ASSERT_TRUE(rank);
    hocket_call_options options = rank.options();
    const std::size_t count = 2000;
    const DeviceBuffer values(rank, count * 4);
    options.persistent = 1;
    hocket_work* work = nullptr;
    ASSERT_EQ(
        hocket_allreduce(values.at(), values.at(), count, HOCKET_FLOAT32, HOCKET_SUM, rank.comm(), &options, &work),
        HOCKET_OK)
        << hocket_last_error();
    for (std::uint64_t turn = 0; turn < 5; ++turn) {
      Bytes input = some_elements(DataType::float32, count, turn * 3 + static_cast<std::uint64_t>(child.index));
      rank.write(values.at(), input);
      ASSERT_EQ(turn % 2 == 0 ? hocket_work_run(work) : hocket_work_start(work), HOCKET_OK) << hocket_last_error();
      ASSERT_EQ(hocket_work_wait(work, 0), HOCKET_OK) << hocket_last_error();
      ASSERT_EQ(hocket_allreduce(input.data(), input.data(), count, HOCKET_FLOAT32, HOCKET_SUM, rank.comm(), nullptr,
                                 nullptr),
                HOCKET_OK);
      EXPECT_EQ(values.read(), input) << "turn " << turn;
    }
    EXPECT_EQ(hocket_work_release(work), HOCKET_OK);
  });
}

// ---- other communicators, other calls -------------------------------------------------------------------------------

TEST(OneGpu, AMismatchIsFound) {
  run_ranks(2, [](Child& child) {
    DeviceRank rank;
    ASSERT_TRUE(rank);
    const hocket_call_options options = rank.options();
    const DeviceBuffer values(rank, Bytes(4000));
    expect_result(hocket_allreduce(values.at(), values.at(), child.index == 0 ? 1000 : 999, HOCKET_FLOAT32, HOCKET_SUM,
                                   rank.comm(), &options, nullptr),
                  HOCKET_MISMATCH);
  });
}

TEST(OneGpu, ChildrenAndSurvivorsUseItToo) {
  run_ranks(4, [](Child& child) {
    DeviceRank rank;
    ASSERT_TRUE(rank);
    hocket_comm* half = nullptr;
    ASSERT_EQ(hocket_comm_split(rank.comm(), child.index % 2, 0, &half, nullptr), HOCKET_OK) << hocket_last_error();
    const Comm owner(half);
    const hocket_call_options options = rank.options();
    const DeviceBuffer values(rank, some_elements(DataType::int32, 5000, static_cast<std::uint64_t>(child.index)));
    Bytes expected = some_elements(DataType::int32, 5000, static_cast<std::uint64_t>(child.index));
    for (hocket_comm* const comm : {half, rank.comm(), half}) {
      ASSERT_EQ(
          hocket_allreduce(expected.data(), expected.data(), 5000, HOCKET_INT32, HOCKET_SUM, comm, nullptr, nullptr),
          HOCKET_OK);
      ASSERT_EQ(hocket_allreduce(values.at(), values.at(), 5000, HOCKET_INT32, HOCKET_SUM, comm, &options, nullptr),
                HOCKET_OK)
          << hocket_last_error();
    }
    EXPECT_EQ(values.read(), expected);
  });
}

}  // namespace
}  // namespace hocket::process_testing
