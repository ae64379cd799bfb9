// Calls on device memory have the bits of the same calls on host memory, wherever the other ranks' data lies and over
// whatever the ranks reach each other. The GPU is a double in host memory.
#include <gtest/gtest.h>

#include <cstdlib>
#include <ostream>

#include "tests/process/support/device_rank.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

constexpr Collective memory_collectives[] = {
    Collective::allreduce, Collective::reduce, Collective::reduce_scatter, Collective::allgather, Collective::broadcast,
    Collective::scatter,   Collective::gather, Collective::alltoall,       Collective::scan,      Collective::exscan};

// Where the data lies, by rank and call.
enum class Where { device, mixed };

struct Setting {
  int ranks;
  const char* transport;
  Where where;
};
void PrintTo(const Setting& setting, std::ostream* out) {
  *out << setting.ranks << "_" << setting.transport << (setting.where == Where::mixed ? "_mixed" : "");
}

class OnDevice : public ::testing::TestWithParam<Setting> {};

DeviceCase placed(DeviceCase what, Where where, int rank, int number) {
  if (where == Where::device) return what;
  what.send_on_device = (rank + number) % 3 != 0;
  what.recv_on_device = what.in_place ? what.send_on_device : (rank + 2 * number) % 2 == 0;
  return what;
}

TEST_P(OnDevice, EveryCollectiveHasTheBitsOfTheHost) {
  const Setting setting = GetParam();
  run_ranks(setting.ranks, [&](Child& child) {
    ::setenv("HOCKET_TRANSPORT", setting.transport, 1);
    DeviceRank rank({.delay = std::chrono::microseconds(200)});
    ASSERT_TRUE(rank);
    int number = 0;
    for (const Collective collective : memory_collectives) {
      for (const bool in_place : {false, true}) {
        for (const auto& [dtype, op, count] : {std::tuple{DataType::float32, ReduceOp::sum, std::size_t{1}},
                                               std::tuple{DataType::bfloat16, ReduceOp::avg, std::size_t{30'001}},
                                               std::tuple{DataType::int32, ReduceOp::max, std::size_t{0}},
                                               std::tuple{DataType::float64, ReduceOp::sum, std::size_t{5000}}}) {
          if (op == ReduceOp::avg && info_of(collective).is_prefix()) continue;
          ++number;
          const DeviceCase what{.collective = collective,
                                .dtype = dtype,
                                .op = op,
                                .count = count,
                                .root = info_of(collective).has_root() ? number % child.size : 0,
                                .in_place = in_place};
          expect_same_as_on_host(rank, placed(what, setting.where, child.index, number));
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(, OnDevice,
                         ::testing::Values(Setting{1, "auto", Where::device}, Setting{2, "shm", Where::device},
                                           Setting{3, "shm", Where::mixed}, Setting{4, "shm", Where::device},
                                           Setting{7, "shm", Where::mixed}, Setting{3, "tcp", Where::device},
                                           Setting{2, "tcp", Where::mixed}),
                         ::testing::PrintToStringParamName());

// ---- messages, blocks that vary, lists ------------------------------------------------------------------------------

TEST(DeviceMemory, IsSentAndReceived) {
  run_ranks(3, [](Child& child) {
    DeviceRank rank({.delay = std::chrono::microseconds(300)});
    ASSERT_TRUE(rank);
    const hocket_call_options options = rank.options();
    const int to = (child.index + 1) % 3, from = (child.index + 2) % 3;
    const std::size_t count = 10'000;
    const auto message = [&](int sender) {
      return some_elements(DataType::float32, count, static_cast<std::uint64_t>(sender));
    };
    const DeviceBuffer send(rank, message(child.index)), recv(rank, count * 4);
    ASSERT_EQ(
        hocket_sendrecv(send.at(), count, to, recv.at(), count, from, HOCKET_FLOAT32, rank.comm(), &options, nullptr),
        HOCKET_OK)
        << hocket_last_error();
    EXPECT_EQ(recv.read(), message(from));

    // From any rank, and to itself, in one group.
    const DeviceBuffer any(rank, count * 4), own(rank, count * 4);
    std::int32_t source = -1;
    ASSERT_EQ(hocket_group_start(), HOCKET_OK);
    EXPECT_EQ(hocket_send(send.at(), count, HOCKET_FLOAT32, to, rank.comm(), &options, nullptr), HOCKET_OK);
    EXPECT_EQ(hocket_send(send.at(), count, HOCKET_FLOAT32, child.index, rank.comm(), &options, nullptr), HOCKET_OK);
    EXPECT_EQ(hocket_recv(own.at(), count, HOCKET_FLOAT32, child.index, rank.comm(), &options, nullptr), HOCKET_OK);
    EXPECT_EQ(hocket_recv_any(any.at(), count, HOCKET_FLOAT32, &source, rank.comm(), &options, nullptr), HOCKET_OK);
    ASSERT_EQ(hocket_group_end(nullptr), HOCKET_OK) << hocket_last_error();
    EXPECT_EQ(source, from);
    EXPECT_EQ(any.read(), message(from));
    EXPECT_EQ(own.read(), message(child.index));
  });
}

TEST(DeviceMemory, BlocksMayVaryAndWhatLiesBetweenThemStays) {
  run_ranks(3, [](Child& child) {
    DeviceRank rank;
    ASSERT_TRUE(rank);
    const hocket_call_options options = rank.options();
    const std::size_t counts[] = {5, 0, 7}, displacements[] = {10, 3, 0};
    const auto own = static_cast<std::size_t>(child.index);
    Bytes expected(20 * 4, std::byte{0xaa});
    for (std::size_t i = 0; i < 3; ++i) {
      const Bytes block = some_elements(DataType::int32, counts[i], i);
      std::copy(block.begin(), block.end(), expected.begin() + static_cast<std::ptrdiff_t>(displacements[i] * 4));
    }
    const DeviceBuffer send(rank, some_elements(DataType::int32, counts[own], own));
    const DeviceBuffer recv(rank, Bytes(20 * 4, std::byte{0xaa}));
    ASSERT_EQ(hocket_allgather_v(send.at(), counts[own], recv.at(), counts, displacements, HOCKET_INT32, rank.comm(),
                                 &options, nullptr),
              HOCKET_OK)
        << hocket_last_error();
    EXPECT_EQ(recv.read(), expected);
    // In place: a rank's block is where it belongs.
    Bytes before(20 * 4, std::byte{0xaa});
    const auto at = static_cast<std::ptrdiff_t>(displacements[own] * 4);
    std::copy(expected.begin() + at, expected.begin() + at + static_cast<std::ptrdiff_t>(counts[own] * 4),
              before.begin() + at);
    const DeviceBuffer both(rank, before);
    ASSERT_EQ(hocket_allgather_v(both.at() + at, counts[own], both.at(), counts, displacements, HOCKET_INT32,
                                 rank.comm(), &options, nullptr),
              HOCKET_OK)
        << hocket_last_error();
    EXPECT_EQ(both.read(), expected);
  });
}

TEST(DeviceMemory, TensorsOfAListMayLieAnywhere) {
  run_ranks(2, [](Child& child) {
    DeviceRank rank({.delay = std::chrono::microseconds(300)});
    ASSERT_TRUE(rank);
    const hocket_call_options options = rank.options();
    const std::size_t counts[] = {3, 50'000, 1, 200, 40'000};
    std::vector<Bytes> hosts, expected;
    std::vector<std::unique_ptr<DeviceBuffer>> devices;
    std::vector<hocket_tensor> on_host, anywhere;
    for (std::size_t i = 0; i < std::size(counts); ++i) {
      const Bytes values = some_elements(DataType::float32, counts[i], i * 10 + static_cast<std::size_t>(child.index));
      expected.push_back(values);
      hosts.push_back(values);
      devices.push_back(std::make_unique<DeviceBuffer>(rank, values));
    }
    for (std::size_t i = 0; i < std::size(counts); ++i) {
      void* const host = expected[i].data();
      void* const other = (i + static_cast<std::size_t>(child.index)) % 3 == 0 ? hosts[i].data() : devices[i]->at();
      on_host.push_back({host, host, counts[i], HOCKET_FLOAT32});
      anywhere.push_back({other, other, counts[i], HOCKET_FLOAT32});
    }
    ASSERT_EQ(hocket_allreduce_list(on_host.data(), on_host.size(), HOCKET_SUM, rank.comm(), nullptr, nullptr),
              HOCKET_OK);
    ASSERT_EQ(hocket_allreduce_list(anywhere.data(), anywhere.size(), HOCKET_SUM, rank.comm(), &options, nullptr),
              HOCKET_OK)
        << hocket_last_error();
    for (std::size_t i = 0; i < std::size(counts); ++i) {
      const bool is_host = anywhere[i].recv == hosts[i].data();
      EXPECT_EQ(is_host ? hosts[i] : devices[i]->read(), expected[i]) << "tensor " << i;
    }
  });
}

}  // namespace
}  // namespace hocket::process_testing
