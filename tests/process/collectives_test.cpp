// Every collective of the C API between real processes, each element compared with a plain reference. Every type and
// reduction: matrix_test.cpp.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>

#include "src/spi/schedule.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

std::vector<bool> placements(Collective collective) {
  if (collective == Collective::barrier) return {false};
  return {false, true};
}

// All of them where the group is small, else the first, one in the middle and the last.
std::set<Rank> roots(Collective collective, Rank size) {
  if (!info_of(collective).has_root()) return {0};
  std::set<Rank> all;
  for (Rank root = 0; root < size; ++root) {
    if (size <= 4 || root == 0 || root == size / 2 || root == size - 1) all.insert(root);
  }
  return all;
}

// Runs the collective with every root and placement, at addresses that differ from call to call.
void run_everywhere(hocket_comm* comm, Rank rank, Rank size, Case what) {
  for (const Rank root : roots(what.collective, size)) {
    for (const bool in_place : placements(what.collective)) {
      what.root = root;
      what.in_place = in_place;
      what.misalignment = (what.misalignment + 7) % 64;
      ++what.salt;
      Call(what, rank, size).run(comm);
      if (testing::Test::HasFailure()) return;
    }
  }
}

class Collectives : public testing::TestWithParam<Ranks> {
 protected:
  const Ranks ranks_ = GetParam();
};

TEST_P(Collectives, EveryCountRootAndPlacement) {
  run_ranks(ranks_, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    const auto size = static_cast<std::size_t>(child.size);
    for (const Collective collective : all_collectives) {
      if (is_point_to_point(collective)) continue;
      for (const std::size_t count : {std::size_t{0}, std::size_t{1}, size - 1, size * 17 + 3, std::size_t{100003}}) {
        run_everywhere(comm.get(), child.index, child.size, {.collective = collective, .count = count, .salt = count});
        if (testing::Test::HasFailure()) return;
      }
    }
  });
}

TEST_P(Collectives, EveryAlgorithmByName) {
  run_ranks(ranks_, [](Child& child) {
    std::set<std::string> names;
    for (const Algorithm& algorithm : catalog()) names.emplace(algorithm.name);
    for (const std::string& name : names) {
      SCOPED_TRACE(name);
      hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
      options.algorithm = name.c_str();
      const Comm comm(&options);
      ASSERT_TRUE(comm);
      for (const Algorithm& algorithm : catalog()) {
        if (algorithm.name != name || is_point_to_point(algorithm.collective)) continue;
        for (const std::size_t count : {1, 5, 211, 50021}) {
          run_everywhere(comm.get(), child.index, child.size, {.collective = algorithm.collective, .count = count});
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  });
}

TEST_P(Collectives, RankAndSizeAreWhatTheEnvironmentSays) {
  run_ranks(ranks_, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    int32_t rank = -1;
    int32_t size = -1;
    EXPECT_EQ(hocket_comm_rank(comm.get(), &rank), HOCKET_OK);
    EXPECT_EQ(hocket_comm_size(comm.get(), &size), HOCKET_OK);
    EXPECT_EQ(rank, child.index);
    EXPECT_EQ(size, child.size);
    EXPECT_EQ(hocket_comm_status(comm.get()), HOCKET_OK);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Collectives, testing::Values(1, 2, 3, 4, 5, 7, 8), testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Hosts, Collectives, testing::Values("0011", "01201", "0001122", "01010101", "00011212"),
                         testing::PrintToStringParamName());

// Plain memory read where it lies, whatever the size: counts of one round and of several, and that the setting is
// heard.
TEST(SingleCopy, EveryCollectiveCountRootAndPlacement) {
  for (const int ranks : {2, 3, 5}) {
    run_ranks(ranks, [](Child& child) {
      ::setenv("HOCKET_SINGLE_COPY", "on", 1);
      const Comm comm;
      ASSERT_TRUE(comm);
      for (const Collective collective : all_collectives) {
        if (is_point_to_point(collective)) continue;
        for (const std::size_t count : {1, 16, 50021, 700001}) {
          run_everywhere(comm.get(), child.index, child.size,
                         {.collective = collective, .count = count, .salt = count});
          if (testing::Test::HasFailure()) return;
        }
      }
    });
  }
}

TEST(SingleCopy, RanksThatDisagreeGoThroughTheStagingAreas) {
  run_ranks(3, [](Child& child) {
    ::setenv("HOCKET_SINGLE_COPY", child.index == 1 ? "off" : "on", 1);
    const Comm comm;
    ASSERT_TRUE(comm);
    for (const Collective collective : all_collectives) {
      if (is_point_to_point(collective)) continue;
      for (const std::size_t count : {1, 10, 1000, 4000, 300007}) {
        run_everywhere(comm.get(), child.index, child.size, {.collective = collective, .count = count});
        if (testing::Test::HasFailure()) return;
      }
    }
  });
}

TEST(SingleCopy, AWordThatMeansNothingIsRefused) {
  run_ranks(2, [](Child&) {
    ::setenv("HOCKET_SINGLE_COPY", "yes", 1);
    hocket_comm* comm = nullptr;
    EXPECT_EQ(hocket_comm_create(&comm, nullptr), HOCKET_INVALID_ENVIRONMENT);
    EXPECT_NE(std::string(hocket_last_error()).find("HOCKET_SINGLE_COPY"), std::string::npos) << hocket_last_error();
  });
}

// The whole vector has `megabytes`, whether it is one buffer or one block for each rank.
void run_large(std::size_t megabytes) {
  run_ranks(4, [megabytes](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    const std::size_t elements = (megabytes << 20) / sizeof(float) + 5;
    for (const Collective collective : all_collectives) {
      if (is_point_to_point(collective) || collective == Collective::barrier) continue;
      const bool by_block = collective != Collective::allreduce && collective != Collective::reduce &&
                            collective != Collective::broadcast;
      for (const bool in_place : placements(collective)) {
        if (in_place && megabytes > 4 && collective != Collective::allreduce) continue;  // checking takes its time
        const Case what{.collective = collective,
                        .count = by_block ? elements / static_cast<std::size_t>(child.size) : elements,
                        .root = child.size - 1,
                        .in_place = in_place,
                        .misalignment = 4,
                        .salt = megabytes};
        Call(what, child.index, child.size).run(comm.get());
        if (testing::Test::HasFailure()) return;
      }
    }
  });
}

TEST(LargeCollectives, FourMebibytes) {
  run_large(4);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(LargeCollectives, SixtyFourMebibytes) {
  run_large(64);
}
#endif

// A rank that comes late finds the others waiting, and no barrier is left before everybody came.
TEST(Barrier, IsLeftByNobodyBeforeTheLastHasCome) {
  ProcessGroup group(3, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    if (child.index == 1) {
      EXPECT_EQ(child.hear(), "come");
    }
    hocket_work* work = nullptr;
    ASSERT_EQ(hocket_barrier(comm.get(), nullptr, &work), HOCKET_OK) << hocket_last_error();
    if (child.index != 1) {
      // A thread that waits drives the operation: it is in the barrier now, and rank 1 has not been told to come.
      EXPECT_EQ(hocket_work_wait(work, 100), HOCKET_IN_PROGRESS);
      child.say("waiting");
    }
    EXPECT_EQ(hocket_work_wait(work, 0), HOCKET_OK) << hocket_last_error();
    EXPECT_EQ(hocket_work_release(work), HOCKET_OK);
  });
  for (const int index : {0, 2}) EXPECT_EQ(group.hear(index), "waiting");
  group.tell(1, "come");
  group.expect_success();
}

// The same with calls that block, which ranks sleep in when they have waited long enough.
TEST(Barrier, IsSleptInUntilTheLastHasCome) {
  ProcessGroup group(3, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    child.say("created");
    if (child.index == 1) {
      EXPECT_EQ(child.hear(), "come");
    }
    EXPECT_EQ(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK) << hocket_last_error();
    child.say("left");
  });
  group.hear_from_all("created");
  for (const int index : {0, 2}) {
    EXPECT_TRUE(falls_asleep(group.process(index))) << "process " << index;
    EXPECT_FALSE(group.has_news(index)) << "process " << index << " left the barrier early";
  }
  group.tell(1, "come");
  group.hear_from_all("left");
  group.expect_success();
}

}  // namespace
}  // namespace hocket::process_testing
