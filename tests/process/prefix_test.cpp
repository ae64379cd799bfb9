// scan and exscan beyond what every collective is tested with: any transport, functions of which the order matters, and
// what has no meaning.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/with_comm.hpp"

namespace hocket::process_testing {
namespace {

constexpr Collective prefixes[] = {Collective::scan, Collective::exscan};

// x -> value * x + index, modulo 2^32. One after the other is associative, and depends on the order.
using Map = hocket_int32_int32;

Map after(const Map& left, const Map& right) {
  const auto bits = [](std::int32_t number) { return static_cast<std::uint32_t>(number); };
  return {static_cast<std::int32_t>(bits(left.value) * bits(right.value)),
          static_cast<std::int32_t>(bits(left.value) * bits(right.index) + bits(left.index))};
}

void compose(void* to, const void* left, const void* right, size_t count, hocket_dtype, void*) {
  for (size_t i = 0; i < count; ++i) {
    static_cast<Map*>(to)[i] = after(static_cast<const Map*>(left)[i], static_cast<const Map*>(right)[i]);
  }
}

// Of element `i`; odd, so that nothing is lost.
Map input_at(Rank rank, std::size_t i) {
  return {static_cast<std::int32_t>(2 * (static_cast<std::size_t>(rank) + i) + 3),
          static_cast<std::int32_t>(7 * static_cast<std::size_t>(rank) + i + 1)};
}

void expect_in_rank_order(Collective collective, hocket_comm* comm, Rank rank, std::size_t count) {
  std::vector<Map> send, recv(count, {-1, -1});
  for (std::size_t i = 0; i < count; ++i) send.push_back(input_at(rank, i));
  hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
  options.function = compose;
  auto* const function = collective == Collective::scan ? hocket_scan : hocket_exscan;
  expect_result(function(send.data(), recv.data(), count, HOCKET_INT32_INT32, HOCKET_USER, comm, &options, nullptr),
                HOCKET_OK);
  const Rank last = collective == Collective::scan ? rank : rank - 1;
  for (std::size_t i = 0; i < count; ++i) {
    Map expected = last < 0 ? Map{-1, -1} : input_at(0, i);
    for (Rank other = 1; other <= last; ++other) expected = after(expected, input_at(other, i));
    ASSERT_EQ(recv[i].value, expected.value) << name_of(collective) << " element " << i << " of " << count;
    ASSERT_EQ(recv[i].index, expected.index) << name_of(collective) << " element " << i << " of " << count;
  }
}

class Prefixes : public testing::TestWithParam<Ranks> {};

TEST_P(Prefixes, OperandsKeepTheOrderOfRanks) {
  run_ranks(GetParam(), [](Child& child) {
    for (const char* algorithm : {"auto", "recursive_doubling", "prefix_chain"}) {
      hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
      options.algorithm = algorithm;
      const Comm comm(&options);
      ASSERT_TRUE(comm);
      for (const Collective collective : prefixes) {
        for (const std::size_t count : {0, 1, 100, 200003}) {
          expect_in_rank_order(collective, comm.get(), child.index, count);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  });
}

// The matrix of transports: over links between all, whatever shares memory.
TEST_P(Prefixes, OverTcpAlone) {
  run_ranks(GetParam(), [](Child& child) {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.transport = "tcp";
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    for (const Collective collective : prefixes) {
      for (const std::size_t count : {1, 5003, 700001}) {
        for (const bool in_place : {false, true}) {
          Call({.collective = collective, .count = count, .in_place = in_place, .salt = count}, child.index, child.size)
              .run(comm.get());
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  });
}

// Over shared memory small ones take the window, and large ones links.
TEST_P(Prefixes, SmallAndLargeOnesInTurns) {
  run_ranks(GetParam(), [](Child& child) {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.transport = "auto";
    const Comm comm(&options), other(&options);
    ASSERT_TRUE(comm && other);
    std::uint64_t number = 0;
    for (const std::size_t count : {1, 50'000, 8, 9, 0, 511, 513, 30'000, 1023, 1025, 4096, 4097, 3}) {
      for (const Collective collective : prefixes) {
        for (const bool in_place : {false, true}) {
          Call({.collective = collective, .count = count, .in_place = in_place, .salt = ++number}, child.index,
               child.size)
              .run(number % 3 == 0 ? other.get() : comm.get());
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Prefixes, testing::Values(1, 2, 3, 5, 7, 8), testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Hosts, Prefixes, testing::Values("0011", "01201"), testing::PrintToStringParamName());

TEST(PrefixErrors, AnAverageIsRefusedAndTheCommunicatorGoesOn) {
  run_ranks(2, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    float send = 1, recv = -1;
    for (auto* const function : {hocket_scan, hocket_exscan}) {
      expect_result(function(&send, &recv, 1, HOCKET_FLOAT32, HOCKET_AVG, comm.get(), nullptr, nullptr),
                    HOCKET_INVALID_ARGUMENT);
      expect_message_names("op avg of float32 has no meaning for a prefix");
    }
    EXPECT_EQ(recv, -1);
    Call({.collective = Collective::scan, .count = 3}, child.index, child.size).run(comm.get());
  });
}

TEST(PrefixErrors, ExscanNeedsNoOutputOnRankZeroAndOneElsewhere) {
  run_ranks(2, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    const float send = 1;
    const auto call = [&](float* recv) {
      return hocket_exscan(&send, recv, 1, HOCKET_FLOAT32, HOCKET_SUM, comm.get(), nullptr, nullptr);
    };
    if (child.index == 1) {
      expect_result(call(nullptr), HOCKET_INVALID_ARGUMENT);
      expect_message_names("exscan: recv is null");
    }
    float recv = -1;
    expect_result(call(child.index == 0 ? nullptr : &recv), HOCKET_OK);
    EXPECT_EQ(recv, child.index == 0 ? -1 : 1);
  });
}

// The ranks of one host, of which the first and the last do what others do not.
class PrefixFaults : public testing::TestWithParam<int> {
 protected:
  // Of scan, then of calls that every rank needs.
  static hocket_result scan_and_go_on(Child& child, const Comm& comm, std::size_t count) {
    hocket_result result =
        Call({.collective = Collective::scan, .count = count}, child.index, child.size).issue(comm.get());
    for (int i = 0; i < 2 && result == HOCKET_OK; ++i) result = hocket_barrier(comm.get(), nullptr, nullptr);
    return result;
  }
};

INSTANTIATE_TEST_SUITE_P(OddRank, PrefixFaults, testing::Values(0, 1, 2), testing::PrintToStringParamName());

// One rank takes the window and the others links, or the other way round, or both the window.
TEST_P(PrefixFaults, OtherCountsAreAMismatchOnAll) {
  for (const auto& [odd, others] : {std::pair(3, 4), std::pair(3, 400'000), std::pair(400'000, 3)}) {
    run_when_all_have_met(3, [&](Child& child, const Comm& comm) {
      const int count = child.index == GetParam() ? odd : others;
      expect_result(scan_and_go_on(child, comm, static_cast<std::size_t>(count)), HOCKET_MISMATCH);
      expect_message_names("scan of " + std::to_string(odd) + " ");
    });
  }
}

// It dies before it has announced anything. The ranks before it do not need it, and learn of it from the next call.
TEST_P(PrefixFaults, ADeathIsNamedByAll) {
  ProcessGroup group(3, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    ASSERT_EQ(scan_and_go_on(child, comm, 5), HOCKET_OK);
    child.say("here");
    EXPECT_EQ(child.hear(), "go on");
    if (child.index == GetParam()) ::_exit(0);
    expect_result(scan_and_go_on(child, comm, 5), HOCKET_PEER_LOST);
    expect_message_names("rank " + std::to_string(GetParam()));
  });
  group.hear_from_all("here");
  for (int index = 0; index < 3; ++index) group.tell(index, "go on");
  group.expect_success();
}

TEST(PrefixErrors, SmallScanMeetsSmallExscan) {
  run_when_all_have_met(2, [](Child& child, const Comm& comm) {
    const Collective collective = child.index == 0 ? Collective::scan : Collective::exscan;
    hocket_result result = Call({.collective = collective, .count = 10}, child.index, child.size).issue(comm.get());
    if (result == HOCKET_OK && child.index == 0) result = hocket_barrier(comm.get(), nullptr, nullptr);
    expect_result(result, HOCKET_MISMATCH);
    expect_message_names("exscan of 10 ");
  });
}

TEST(PrefixErrors, ScanMeetsExscan) {
  run_ranks(2, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    const std::vector<float> send(10000, 1);
    std::vector<float> recv(10000);
    auto* const function = child.index == 0 ? hocket_scan : hocket_exscan;
    const auto call = [&] {
      return function(send.data(), recv.data(), send.size(), HOCKET_FLOAT32, HOCKET_SUM, comm.get(), nullptr, nullptr);
    };
    hocket_result result = call();
    // Rank 0 only sends, so a later call is told.
    if (result == HOCKET_OK && child.index == 0) result = hocket_barrier(comm.get(), nullptr, nullptr);
    expect_result(result, HOCKET_MISMATCH);
    expect_message_names("exscan of 10000 float32, sum");
  });
}

}  // namespace
}  // namespace hocket::process_testing
