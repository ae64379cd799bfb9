// Persistent works: planned once, started many times.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "hocket/hocket.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/works.hpp"

namespace hocket::process_testing {
namespace {

class Persistent : public testing::TestWithParam<Ranks> {};

// Every collective, in place and out of place, small and in slices: the result is right at every run, and nothing else
// is touched. Out of place only, where the input stays as it is.
TEST_P(Persistent, GivesTheResultAtEveryRun) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    const hocket_call_options options = persistent();
    for (const Collective collective : all_collectives) {
      if (collective == Collective::send || collective == Collective::recv) continue;
      for (const std::size_t count : {0, 1, 1000, 70007}) {
        Call call({.collective = collective, .count = count, .root = child.size - 1}, child.index, child.size);
        Handle work;
        expect_result(call.issue(comm.get(), work.out(), &options), HOCKET_OK);
        expect_result(hocket_work_test(work.get()), HOCKET_OK);  // nothing has begun
        expect_result(hocket_work_wait(work.get(), 0), HOCKET_OK);
        for (int run = 0; run < 3; ++run) {
          run % 2 == 0 ? work.start_and_wait() : expect_result(hocket_work_run(work.get()), HOCKET_OK);
          call.expect_correct();
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  });
}

// What lies in the buffers when a run begins is what counts; scalars are copied when the work is made.
TEST_P(Persistent, ReadsItsInputAnewInHundredsOfRuns) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    float scalar = 2;
    hocket_call_options options = persistent();
    options.scalar = &scalar;
    for (const hocket_op op : {HOCKET_SUM, HOCKET_PREMULTIPLIED_SUM}) {
      for (const std::size_t count : {1, 3000}) {
        std::vector<float> values(count);
        Handle work;
        expect_result(
            hocket_allreduce(values.data(), values.data(), count, HOCKET_FLOAT32, op, comm.get(), &options, work.out()),
            HOCKET_OK);
        scalar = 100;
        for (int run = 0; run < 300; ++run) {
          values.assign(count, static_cast<float>(run + child.index));
          run % 2 == 0 ? work.start_and_wait() : expect_result(hocket_work_run(work.get()), HOCKET_OK);
          const int sum = run * child.size + child.size * (child.size - 1) / 2;
          EXPECT_EQ(values, std::vector<float>(count, static_cast<float>(op == HOCKET_SUM ? sum : 2 * sum)));
          if (testing::Test::HasFailure()) return;
        }
        scalar = 2;
      }
    }
  });
}

// In place it is copied at every run.
TEST_P(Persistent, AlltoallInPlace) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    const hocket_call_options options = persistent();
    const auto size = static_cast<std::size_t>(child.size);
    const std::vector<std::size_t> counts(size, 50);
    std::vector<int> values(50 * size);
    for (const bool unequal : {false, true}) {
      Handle work;
      expect_result(
          unequal ? hocket_alltoall_v(values.data(), counts.data(), nullptr, values.data(), counts.data(), nullptr,
                                      HOCKET_INT32, comm.get(), &options, work.out())
                  : hocket_alltoall(values.data(), values.data(), 50, HOCKET_INT32, comm.get(), &options, work.out()),
          HOCKET_OK);
      for (int run = 0; run < 5; ++run) {
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = run + 1000 * child.index + static_cast<int>(i);
        expect_result(hocket_work_run(work.get()), HOCKET_OK);
        for (std::size_t i = 0; i < values.size(); ++i) {
          ASSERT_EQ(values[i], run + 1000 * static_cast<int>(i / 50) + 50 * child.index + static_cast<int>(i % 50));
        }
      }
    }
  });
}

// Messages, round a ring: their starts need no group, also where one is open.
TEST_P(Persistent, Messages) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    const hocket_call_options options = persistent();
    const int right = (child.index + 1) % child.size, left = (child.index + child.size - 1) % child.size;
    std::vector<int> mine(3000), theirs(3000);
    Handle both, sent, received;
    expect_result(hocket_sendrecv(mine.data(), mine.size(), right, theirs.data(), theirs.size(), left, HOCKET_INT32,
                                  comm.get(), &options, both.out()),
                  HOCKET_OK);
    if (child.size > 1) {
      expect_result(hocket_send(mine.data(), mine.size(), HOCKET_INT32, right, comm.get(), &options, sent.out()),
                    HOCKET_OK);
      expect_result(hocket_recv(theirs.data(), theirs.size(), HOCKET_INT32, left, comm.get(), &options, received.out()),
                    HOCKET_OK);
    }
    for (int run = 0; run < 100; ++run) {
      mine.assign(mine.size(), run * 10 + child.index);
      if (run % 2 == 0 || child.size == 1) {
        both.start_and_wait();
      } else {
        expect_result(hocket_group_start(), HOCKET_OK);
        expect_result(hocket_work_start(sent.get()), HOCKET_OK);
        expect_result(hocket_work_start(received.get()), HOCKET_OK);
        expect_result(hocket_work_wait(received.get(), 0), HOCKET_OK);
        expect_result(hocket_work_wait(sent.get(), 0), HOCKET_OK);
        expect_result(hocket_group_end(nullptr), HOCKET_OK);
      }
      EXPECT_EQ(theirs, std::vector<int>(theirs.size(), run * 10 + left));
      if (testing::Test::HasFailure()) return;
    }
  });
}

// Each run begins the next from the function that is called when it is complete.
TEST_P(Persistent, StartsItselfAgainOnCompletion) {
  run_ranks(GetParam(), [](Child& child) {
    auto comm = Communicator::create();
    std::vector<std::int32_t> sums(10), mine(10, 1);
    Work work = comm.allreduce_async(mine, sums, Op::sum, {.persistent = true});
    constexpr int wanted = 400;
    std::atomic<int> runs{0};
    std::function<void(hocket_result)> again = [&](hocket_result result) {
      EXPECT_EQ(result, HOCKET_OK);
      EXPECT_EQ(sums, std::vector<std::int32_t>(10, runs * child.size));
      mine.assign(10, runs + 1);
      if (runs + 1 < wanted) {
        ++runs;
        work.start();
        work.on_complete(again);
      } else {
        runs = wanted;
      }
    };
    again(HOCKET_OK);
    while (runs < wanted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    comm.barrier();
  });
}

// A run is a call like any other: other ranks need not be persistent.
TEST_P(Persistent, MatchesCallsThatAreNot) {
  run_ranks(GetParam(), [](Child& child) {
    auto comm = Communicator::create();
    std::vector<float> values(20000), sums(20000);
    Work work;
    if (child.index % 2 == 0) work = comm.allreduce_async(values, sums, Op::sum, {.persistent = true});
    for (int run = 0; run < 20; ++run) {
      values.assign(values.size(), static_cast<float>(run));
      child.index % 2 == 0 ? work.run() : comm.allreduce(values, sums, Op::sum);
      EXPECT_EQ(sums, std::vector<float>(sums.size(), static_cast<float>(run * child.size)));
    }
  });
}

TEST_P(Persistent, SeveralRunAmongOtherCalls) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    const hocket_call_options options = persistent();
    Call small({.collective = Collective::allreduce, .count = 7, .salt = 1}, child.index, child.size);
    Call large({.collective = Collective::allgather, .count = 100003, .salt = 2}, child.index, child.size);
    Handle first, second;
    expect_result(small.issue(comm.get(), first.out(), &options), HOCKET_OK);
    expect_result(large.issue(comm.get(), second.out(), &options), HOCKET_OK);
    for (std::uint64_t run = 0; run < 20; ++run) {
      expect_result(hocket_work_start(first.get()), HOCKET_OK);
      Call other({.collective = Collective::broadcast, .count = run * 50, .salt = run}, child.index, child.size);
      Handle work;
      expect_result(other.issue(comm.get(), work.out()), HOCKET_OK);
      expect_result(hocket_work_start(second.get()), HOCKET_OK);
      for (const Handle* one : {&second, &first, &work}) expect_result(hocket_work_wait(one->get(), 0), HOCKET_OK);
      for (const Call* call : {&small, &large, &other}) call->expect_correct();
      if (testing::Test::HasFailure()) return;
    }
  });
}

TEST_P(Persistent, OfTheWrapper) {
  run_ranks(GetParam(), [](Child& child) {
    auto comm = Communicator::create();
    std::vector<int> values(10, 1), sums(10);
    Work work = comm.allreduce_async(values, sums, Op::sum, {.persistent = true});
    for (int run = 1; run < 4; ++run) {
      values.assign(10, run);
      work.start();
      work.wait();
      EXPECT_EQ(sums, std::vector<int>(10, run * child.size));
      work.run();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Persistent, testing::Values(1, 2, 3, 5), testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Hosts, Persistent, testing::Values("01", "0011"), testing::PrintToStringParamName());

}  // namespace
}  // namespace hocket::process_testing
