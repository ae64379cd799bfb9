// hocket_work_finish(): waiting for a work that nobody needs afterwards.
#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

#include "hocket/hocket.hpp"
#include "tests/process/support/children.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/over_transports.hpp"
#include "tests/process/support/with_comm.hpp"
#include "tests/process/support/works.hpp"

namespace hocket::process_testing {
namespace {

class Finish : public OverTransport {};

INSTANTIATE_TEST_SUITE_P(Over, Finish, testing::Values("shm", "tcp"), [](const auto& of) { return of.param; });

hocket_work* start_message(std::uint64_t& number, int rank, hocket_comm* comm) {
  hocket_work* work = nullptr;
  const hocket_result started = rank == 0 ? hocket_send(&number, 1, HOCKET_UINT64, 1, comm, nullptr, &work)
                                          : hocket_recv(&number, 1, HOCKET_UINT64, 0, comm, nullptr, &work);
  expect_result(started, HOCKET_OK);
  return work;
}

TEST_P(Finish, TakesWhatIsOverAndWhatIsUnderWay) {
  run_ranks(2, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    expect_result(hocket_work_finish(nullptr), HOCKET_OK);
    std::array<std::uint64_t, 40> numbers{};
    std::uint64_t sequence = 0;
    for (std::uint64_t round = 0; round < 100; ++round) {
      std::array<hocket_work*, numbers.size()> works{};
      if (round % 2 == 0) expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);
      for (std::size_t i = 0; i < works.size(); ++i) {
        if (child.index == 0) numbers[i] = 1000 * round + i;
        works[i] = start_message(numbers[i], child.index, comm.get());
      }
      for (std::size_t i = 0; i < works.size(); ++i) {
        expect_result(hocket_work_finish(works[i]), HOCKET_OK);
        ASSERT_EQ(numbers[i], 1000 * round + i);
        hocket_call_info info = HOCKET_CALL_INFO_INIT;
        expect_result(hocket_last_call(&info), HOCKET_OK);
        ASSERT_EQ(info.sequence, ++sequence);
      }
    }
  });
}

// What one call has left in a handle is nothing to the next one that has it.
TEST_P(Finish, HandlesServeOtherCallsAfterwards) {
  run_ranks(2, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    const hocket_call_options options = persistent();
    for (std::uint64_t round = 1; round <= 20; ++round) {
      std::uint64_t number = round, sum = 0;
      expect_result(hocket_work_finish(start_message(number, child.index, comm.get())), HOCKET_OK);
      hocket_work* work = nullptr;
      expect_result(hocket_allreduce(&number, &sum, 1, HOCKET_UINT64, HOCKET_SUM, comm.get(), &options, &work),
                    HOCKET_OK);
      if (round % 3 != 0) expect_result(hocket_work_start(work), HOCKET_OK);
      expect_result(hocket_work_finish(work), HOCKET_OK);
      EXPECT_EQ(sum, round % 3 != 0 ? 2 * round : 0);
      work = start_message(number, child.index, comm.get());
      expect_result(hocket_work_start(work), HOCKET_INVALID_ARGUMENT);
      expect_message_names("not persistent");
      expect_result(hocket_work_finish(work), HOCKET_OK);
      std::uint64_t mine = round + static_cast<std::uint64_t>(child.index), theirs = 0;
      const int other = 1 - child.index;
      expect_result(hocket_group_start(), HOCKET_OK);
      expect_result(hocket_send(&mine, 1, HOCKET_UINT64, other, comm.get(), nullptr, nullptr), HOCKET_OK);
      expect_result(hocket_recv(&theirs, 1, HOCKET_UINT64, other, comm.get(), nullptr, nullptr), HOCKET_OK);
      expect_result(hocket_group_end(&work), HOCKET_OK);
      expect_result(hocket_work_finish(work), HOCKET_OK);
      EXPECT_EQ(theirs, round + static_cast<std::uint64_t>(other));
    }
  });
}

TEST_P(Finish, ReturnsWhatTheWorkEndedWith) {
  ProcessGroup group(2, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    std::uint64_t number = 1;
    for (int round = 0; round < 2; ++round) {
      expect_result(hocket_work_finish(start_message(number, child.index, comm.get())), HOCKET_OK);
    }
    expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);
    if (child.index == 0) {
      EXPECT_EQ(child.hear(), "go");
      return;
    }
    hocket_work* const pending = start_message(number, 1, comm.get());  // to which nothing comes
    expect_result(hocket_comm_abort(comm.get(), "enough"), HOCKET_OK);
    expect_result(hocket_work_finish(pending), HOCKET_ABORTED);
    expect_message_names("enough");
    child.say("aborted");
  });
  EXPECT_EQ(group.hear(1), "aborted");
  group.tell(0, "go");
  group.expect_success();
}

// Of a receive that is over: it finishes that, and another one to which nothing has come yet.
struct Inside {
  hocket_work* own = nullptr;
  hocket_work* pending = nullptr;
  std::atomic<bool> over{false};

  static void finish_both(hocket_result result, void* context) {
    auto& works = *static_cast<Inside*>(context);
    expect_result(result, HOCKET_OK);
    expect_result(hocket_work_finish(works.pending), HOCKET_INVALID_ARGUMENT);
    expect_message_names("inside a completion function");
    expect_result(hocket_work_finish(works.own), HOCKET_OK);
    works.over = true;
  }
};

// There it does not wait, and what is not over continues.
TEST_P(Finish, InsideACompletionFunction) {
  ProcessGroup group(2, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    std::array<std::uint64_t, 3> numbers{};
    const auto recv = [&](std::size_t i, hocket_work** work) {
      expect_result(hocket_recv(&numbers[i], 1, HOCKET_UINT64, 0, comm.get(), nullptr, work), HOCKET_OK);
    };
    if (child.index == 0) {
      for (const std::uint64_t number : {7, 8, 9}) {
        if (number != 9) {
          EXPECT_EQ(child.hear(), "send");
        }
        expect_result(hocket_send(&number, 1, HOCKET_UINT64, 1, comm.get(), nullptr, nullptr), HOCKET_OK);
      }
      EXPECT_EQ(child.hear(), "go");
      return;
    }
    Inside inside;
    recv(0, &inside.own);
    recv(1, &inside.pending);
    expect_result(hocket_work_on_complete(inside.own, Inside::finish_both, &inside), HOCKET_OK);
    child.say("posted");
    while (!inside.over) std::this_thread::yield();
    child.say("finished");
    recv(2, nullptr);
    EXPECT_EQ(numbers, (std::array<std::uint64_t, 3>{7, 8, 9}));
    child.say("received");
  });
  EXPECT_EQ(group.hear(1), "posted");
  group.tell(0, "send");
  EXPECT_EQ(group.hear(1), "finished");
  group.tell(0, "send");
  EXPECT_EQ(group.hear(1), "received");
  group.tell(0, "go");
  group.expect_success();
}

}  // namespace
}  // namespace hocket::process_testing
