// Asynchronous operations, several communicators and several threads, between real processes.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "tests/process/support/call.hpp"
#include "tests/process/support/flight.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

// The same list of calls on every rank.
std::vector<Case> any_cases(int number, Rank size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Case> cases;
  while (static_cast<int>(cases.size()) < number) {
    Case what;
    do {
      what.collective = all_collectives[random() % std::size(all_collectives)];
    } while (what.collective == Collective::send || what.collective == Collective::recv);
    const std::size_t counts[] = {0, 1, 3, 100, 5003, 70001};
    what.count = counts[random() % std::size(counts)];
    what.dtype = all_data_types[random() % std::size(all_data_types)];
    const auto ops = ops_of(what.dtype, what.collective);
    what.op = ops[random() % ops.size()];
    what.root = static_cast<Rank>(random() % static_cast<unsigned>(size));
    what.in_place = random() % 2 == 0;
    what.misalignment = random() % 64;
    what.salt = random();
    cases.push_back(what);
  }
  return cases;
}

class AsyncCollectives : public testing::TestWithParam<Ranks> {};

TEST_P(AsyncCollectives, ManyInFlightWaitedForFromTheLast) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    Flight flight(comm.get(), child.index, child.size);
    for (const Case& what : any_cases(80, child.size, 1)) ASSERT_NO_FATAL_FAILURE(flight.start(what));
    for (std::size_t index = flight.size(); index-- > 0;) ASSERT_NO_FATAL_FAILURE(flight.wait(index));
  });
}

TEST_P(AsyncCollectives, ProgressWithoutAnybodyWaiting) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    Flight flight(comm.get(), child.index, child.size);
    for (const Case& what : any_cases(40, child.size, 2)) ASSERT_NO_FATAL_FAILURE(flight.start(what));
    for (std::size_t index = 0; index < flight.size(); ++index) ASSERT_NO_FATAL_FAILURE(flight.poll(index));
  });
}

TEST_P(AsyncCollectives, BlockingCallsAmongThoseInFlight) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    Flight flight(comm.get(), child.index, child.size);
    int number = 0;
    for (const Case& what : any_cases(60, child.size, 3)) {
      if (++number % 4 == 0) {
        Call(what, child.index, child.size).run(comm.get());
      } else {
        ASSERT_NO_FATAL_FAILURE(flight.start(what));
      }
      if (testing::Test::HasFailure()) return;
    }
    for (std::size_t index = 0; index < flight.size(); ++index) ASSERT_NO_FATAL_FAILURE(flight.wait(index));
  });
}

TEST_P(AsyncCollectives, AWaitThatIsTooShortSaysSoAndCanBeRepeated) {
  ProcessGroup group(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    if (child.index == child.size - 1) {
      EXPECT_EQ(child.hear(), "come");
    }
    Call call({.collective = Collective::barrier}, child.index, child.size);
    hocket_work* work = nullptr;
    ASSERT_EQ(call.issue(comm.get(), &work), HOCKET_OK) << hocket_last_error();
    if (child.index == 0 && child.size > 1) {
      EXPECT_EQ(hocket_work_wait(work, 20), HOCKET_IN_PROGRESS);
      EXPECT_EQ(hocket_work_test(work), HOCKET_IN_PROGRESS);
      child.say("waited");
    }
    EXPECT_EQ(hocket_work_wait(work, 0), HOCKET_OK) << hocket_last_error();
    EXPECT_EQ(hocket_work_release(work), HOCKET_OK);
  });
  if (group.size() > 1) {
    EXPECT_EQ(group.hear(0), "waited");
  }
  group.tell(group.size() - 1, "come");
  group.expect_success();
}

// Calls without data that stood in the queue for longer than the interval in which waiting ranks tell so: they are
// complete as soon as they begin, and have nobody to tell.
TEST(QueuedCollectives, WithoutDataBehindOneThatTookLong) {
  ProcessGroup group("01", [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    Flight flight(comm.get(), child.index, child.size);
    if (child.index == 1) {
      EXPECT_EQ(child.hear(), "come");
    }
    ASSERT_NO_FATAL_FAILURE(flight.start({.collective = Collective::barrier}));
    for (std::uint64_t number = 0; number < 1000; ++number) {
      ASSERT_NO_FATAL_FAILURE(flight.start({.collective = Collective::allgather, .count = 0, .salt = number}));
    }
    if (child.index == 0) {
      EXPECT_EQ(hocket_work_wait(flight.last(), 1500), HOCKET_IN_PROGRESS);
      child.say("waited");
    }
    for (std::size_t index = flight.size(); index-- > 0;) ASSERT_NO_FATAL_FAILURE(flight.wait(index));
  });
  EXPECT_EQ(group.hear(0), "waited");
  group.tell(1, "come");
  group.expect_success();
}

INSTANTIATE_TEST_SUITE_P(Ranks, AsyncCollectives, testing::Values(1, 2, 3, 4, 5, 8), testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Hosts, AsyncCollectives, testing::Values("0110", "00112", "01200121"),
                         testing::PrintToStringParamName());

// ---- several communicators

TEST(Communicators, TwoOfOneStoreInTwoThreads) {
  run_ranks(3, [](Child& child) {
    const Comm first;
    const Comm second;
    ASSERT_TRUE(first && second);
    const auto work_on = [&](const Comm& comm, unsigned seed) {
      for (const Case& what : any_cases(150, child.size, seed)) {
        Call(what, child.index, child.size).run(comm.get());
        if (testing::Test::HasFailure()) return;
      }
    };
    std::thread other(work_on, std::cref(second), 12);
    work_on(first, 11);
    other.join();
  });
}

TEST(Communicators, ManyOneAfterAnother) {
  run_ranks(3, [](Child& child) {
    for (std::uint64_t round = 0; round < 20; ++round) {
      const Comm comm;
      ASSERT_TRUE(comm);
      Call({.count = 1000, .salt = round}, child.index, child.size).run(comm.get());
      if (testing::Test::HasFailure()) return;
    }
  });
}

// What a communicator opened and started is gone with it.
TEST(Communicators, LeaveNothingBehind) {
  run_ranks(3, [](Child& child) {
    const auto use_one = [&] {
      const Comm comm;
      ASSERT_TRUE(comm);
      Flight flight(comm.get(), child.index, child.size);
      for (const Case& what : any_cases(10, child.size, 5)) ASSERT_NO_FATAL_FAILURE(flight.start(what));
      for (std::size_t index = 0; index < flight.size(); ++index) ASSERT_NO_FATAL_FAILURE(flight.wait(index));
    };
    use_one();  // what a library opens once for the whole process is not counted
    const int descriptors = open_descriptors();
    const int threads = running_threads();
    for (int round = 0; round < 3; ++round) use_one();
    EXPECT_EQ(open_descriptors(), descriptors);
    EXPECT_EQ(running_threads(), threads);
  });
}

}  // namespace
}  // namespace hocket::process_testing
