// Functions that are called when a work is complete.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "hocket/hocket.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/callback_chain.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/works.hpp"

namespace hocket::process_testing {
namespace {

class Callbacks : public testing::TestWithParam<Ranks> {};

TEST_P(Callbacks, ComeOnceForEveryWorkWithoutAnybodyWaiting) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    constexpr std::size_t number = 200;
    std::vector<Call> calls;
    std::vector<std::unique_ptr<Told>> told;
    for (std::size_t i = 0; i < number; ++i) {
      calls.emplace_back(Case{.collective = Collective::allreduce, .count = i * 97, .salt = i}, child.index,
                         child.size);
      told.push_back(std::make_unique<Told>());
      hocket_work* work = nullptr;
      expect_result(calls.back().issue(comm.get(), &work), HOCKET_OK);
      expect_result(hocket_work_on_complete(work, Told::tell, told.back().get()), HOCKET_OK);
      expect_result(hocket_work_release(work), HOCKET_OK);  // it is called nevertheless
    }
    for (std::size_t i = 0; i < number; ++i) {
      told[i]->wait_for(1);
      calls[i].expect_correct();
    }
    expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);
    for (const auto& one : told) {
      EXPECT_EQ(one->times, 1);
      EXPECT_EQ(one->result, HOCKET_OK);
    }
  });
}

TEST_P(Callbacks, ComeAtOnceWhereTheWorkIsComplete) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    Call call({.collective = Collective::allreduce, .count = 5}, child.index, child.size);
    hocket_work* work = nullptr;
    expect_result(call.issue(comm.get(), &work), HOCKET_OK);
    expect_result(hocket_work_wait(work, 0), HOCKET_OK);
    Told told;
    for (int times = 1; times < 3; ++times) {
      expect_result(hocket_work_on_complete(work, Told::tell, &told), HOCKET_OK);
      EXPECT_EQ(told.times, times);
    }
    expect_result(hocket_work_release(work), HOCKET_OK);
  });
}

// Every call begins the next one from inside its function: so many that each must return before the next is called.
TEST_P(Callbacks, MayStartTheNextCall) {
  run_ranks(GetParam(), [](Child& child) {
    auto comm = Communicator::create();
    run_callback_chain(child.size == 1 ? 100000 : 500, [&](int) -> Communicator& { return comm; });
    comm.barrier();
  });
}

// What a function may not do is refused at once, and harms nobody.
TEST_P(Callbacks, MayNotWait) {
  run_ranks(GetParam(), [](Child&) {
    auto comm = Communicator::create();
    std::vector<int> values(1000, 1);
    int value = 1;
    std::atomic<bool> called{false};
    Work work = comm.allreduce_async(values, values, Op::sum);
    work.on_complete([&](hocket_result) {
      hocket_comm* other = nullptr;
      const hocket_result refused[] = {
          hocket_allreduce(&value, &value, 1, HOCKET_INT32, HOCKET_SUM, comm.handle(), nullptr, nullptr),
          hocket_comm_split(comm.handle(), 0, 0, &other, nullptr),
          hocket_comm_create(&other, nullptr),
          hocket_comm_destroy(comm.handle()),
      };
      for (const hocket_result result : refused) {
        expect_result(result, HOCKET_INVALID_ARGUMENT);
        expect_message_names("inside a completion function");
      }
      expect_result(hocket_group_start(), HOCKET_OK);
      expect_result(hocket_barrier(comm.handle(), nullptr, nullptr), HOCKET_OK);
      expect_result(hocket_group_end(nullptr), HOCKET_INVALID_ARGUMENT);
      expect_result(hocket_group_end(nullptr), HOCKET_INVALID_ARGUMENT);
      expect_message_names("no open group");
      hocket_work* inner = nullptr;
      expect_result(hocket_barrier(comm.handle(), nullptr, &inner), HOCKET_OK);
      // Complete already, or refused; but never a wait.
      const hocket_result waited = hocket_work_wait(inner, 0);
      EXPECT_TRUE(waited == HOCKET_OK || waited == HOCKET_INVALID_ARGUMENT) << hocket_last_error();
      expect_result(hocket_work_release(inner), HOCKET_OK);
      called = true;
    });
    work.wait();
    while (!called) std::this_thread::yield();
    comm.barrier();
    comm.allreduce(values, Op::max);
  });
}

TEST_P(Callbacks, ThatThrowHarmNobody) {
  run_ranks(GetParam(), [](Child& child) {
    auto comm = Communicator::create();
    std::atomic<int> called = 0;
    for (int i = 0; i < 3; ++i) {
      std::vector<int> values(1000, child.index + i);
      Work work = comm.allreduce_async(values, values, Op::max);
      work.on_complete([&](hocket_result result) {
        if (result == HOCKET_OK) ++called;
        throw std::runtime_error("not today");
      });
      EXPECT_NO_THROW(work.wait());
      EXPECT_EQ(values, std::vector<int>(1000, child.size - 1 + i));
    }
    while (called < 3) std::this_thread::yield();  // one that is never called hangs the test, which is killed
    expect_result(hocket_comm_status(comm.handle()), HOCKET_OK);
    comm.barrier();
  });
}

// A group has one function, and the function is in no group: what it starts begins at once.
TEST_P(Callbacks, OfGroupsAndInsideThem) {
  run_ranks(GetParam(), [](Child& child) {
    auto comm = Communicator::create();
    std::vector<int> mine(100, child.index), theirs(100, -1), sums(70000, 1);
    const int right = (child.index + 1) % child.size, left = (child.index + child.size - 1) % child.size;
    Group group;
    comm.send(mine, right);
    comm.recv(theirs, left);
    comm.allreduce(sums, Op::sum);
    Work all = group.end_async();
    Told told;
    Work inner;
    std::vector<int> more(5, 1);
    std::atomic<bool> started{false};
    {
      Group kept;  // of this thread, which may come to call the function
      comm.barrier();
      all.on_complete([&](hocket_result result) {
        EXPECT_EQ(theirs, std::vector<int>(100, left));
        EXPECT_EQ(sums, std::vector<int>(70000, child.size));
        inner = comm.allreduce_async(more, more, Op::sum);
        Told::tell(result, &told);
        started = true;
      });
      all.wait();
      while (!started) std::this_thread::yield();
      inner.wait();
      EXPECT_EQ(more, std::vector<int>(5, child.size));
      kept.end();
    }
    EXPECT_EQ(told.times, 1);
    EXPECT_EQ(told.result, HOCKET_OK);
    Group empty;
    Work nothing = empty.end_async();
    nothing.on_complete([&](hocket_result result) { Told::tell(result, &told); });
    EXPECT_EQ(told.times, 2);
  });
}

TEST(Callback, LeavesAnOpenGroupAsItIs) {
  run_ranks(1, [](Child&) {
    auto comm = Communicator::create();
    Work over = comm.barrier_async();
    over.wait();
    const std::vector<int> sent(3, 7);
    std::vector<int> received(3, -1);
    std::int32_t source = -1;
    int times = 0;
    Group group;
    comm.send(sent, 0);
    comm.recv_any(received, source);
    over.on_complete([&](hocket_result) {  // at once, on this thread
      Group inner;
      (void)inner.end_async();
      ++times;
    });
    EXPECT_EQ(times, 1);
    group.end();
    EXPECT_EQ(received, sent);
    EXPECT_EQ(source, 0);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Callbacks, testing::Values(1, 2, 3), testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Hosts, Callbacks, testing::Values("01", "0011"), testing::PrintToStringParamName());

}  // namespace
}  // namespace hocket::process_testing
