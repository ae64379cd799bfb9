// Waiting for any of several works.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "hocket/hocket.hpp"
#include "tests/process/support/children.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/over_transports.hpp"
#include "tests/process/support/with_comm.hpp"
#include "tests/process/support/works.hpp"

namespace hocket::process_testing {
namespace {

class WaitAny : public OverTransport {};

INSTANTIATE_TEST_SUITE_P(Over, WaitAny, testing::Values("shm", "tcp"), [](const auto& of) { return of.param; });

hocket_work* wait_any_receive(int& value, Rank from, const Comm& comm) {
  hocket_work* work = nullptr;
  expect_result(hocket_recv(&value, 1, HOCKET_INT32, from, comm.get(), nullptr, &work), HOCKET_OK);
  return work;
}

void wait_any_send(int value, Rank to, const Comm& comm) {
  expect_result(hocket_send(&value, 1, HOCKET_INT32, to, comm.get(), nullptr, nullptr), HOCKET_OK);
}

// What rank 0 does: receives of several ranks, which send one after another when they are told to.
void take_in_this_order(const std::vector<Rank>& order, Child& child, const std::vector<const Comm*>& comms) {
  std::vector<int> values(order.size() + 1, -1);
  std::vector<hocket_work*> works(order.size() + 1, nullptr);
  for (Rank from = 1; from < child.size; ++from) {
    const auto at = static_cast<std::size_t>(from);
    works[at] = wait_any_receive(values[at], from, *comms[at % comms.size()]);
  }
  child.say("ready");
  for (const Rank sender : order) {
    std::size_t index = 99;
    expect_result(hocket_work_wait_any(works.size(), works.data(), 20, &index), HOCKET_IN_PROGRESS);
    EXPECT_EQ(index, works.size());
    child.say("next");
    expect_result(hocket_work_wait_any(works.size(), works.data(), 0, &index), HOCKET_OK);
    ASSERT_EQ(index, static_cast<std::size_t>(sender));
    EXPECT_EQ(values[index], sender);
    expect_result(hocket_work_release(works[index]), HOCKET_OK);
    works[index] = nullptr;
  }
  std::size_t index = 99;
  expect_result(hocket_work_wait_any(works.size(), works.data(), 0, &index), HOCKET_OK);
  EXPECT_EQ(index, works.size()) << "none is left";
}

// `on`: the communicators of the works; each of rank 0's peers takes one in turn.
void run_in_this_order(const std::vector<Rank>& order, bool several_communicators) {
  ProcessGroup group(4, [&](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    const Comm second(several_communicators ? duplicate(comm) : nullptr);
    const Comm third(several_communicators ? duplicate(comm, Links::shared) : nullptr);
    const std::vector<const Comm*> comms =
        several_communicators ? std::vector<const Comm*>{&comm, &second, &third} : std::vector<const Comm*>{&comm};
    if (child.index == 0) {
      take_in_this_order(order, child, comms);
    } else {
      EXPECT_EQ(child.hear(), "send");
      wait_any_send(child.index, 0, *comms[static_cast<std::size_t>(child.index) % comms.size()]);
    }
    expect_result(barrier(comm), HOCKET_OK);
  });
  EXPECT_EQ(group.hear(0), "ready");
  for (const Rank sender : order) {
    EXPECT_EQ(group.hear(0), "next");
    group.tell(sender, "send");
  }
  group.expect_success();
}

TEST_P(WaitAny, FindsTheWorkThatIsComplete) {
  run_in_this_order({3, 1, 2}, false);
}

TEST_P(WaitAny, FindsItAmongWorksOfSeveralCommunicators) {
  run_in_this_order({2, 3, 1}, true);
}

TEST_P(WaitAny, EndsWithWhatBreaksACommunicator) {
  for (const bool several : {false, true}) {
    run_when_all_have_met(2, [&](Child& child, const Comm& comm) {
      const Comm other(duplicate(comm));
      int values[2] = {};
      if (child.index == 0) {
        hocket_work* works[] = {wait_any_receive(values[0], 1, comm),
                                wait_any_receive(values[1], 1, several ? other : comm)};
        wait_any_send(1, 1, comm);
        std::size_t index = 99;
        expect_result(hocket_work_wait_any(2, works, 0, &index), HOCKET_ABORTED);
        EXPECT_EQ(index, 0U);
        wait_any_send(1, 1, other);  // until then the other rank stays
        expect_result(hocket_work_wait(works[1], 0), several ? HOCKET_OK : HOCKET_ABORTED);
        for (hocket_work* work : works) hocket_work_release(work);
      } else {
        wait_and_release(wait_any_receive(values[0], 0, comm));
        hocket_comm_abort(comm.get(), "enough");
        wait_and_release(wait_any_receive(values[1], 0, other));
        if (several) wait_any_send(2, 0, other);
      }
    });
  }
}

TEST_P(WaitAny, WakesAThreadThatWaitsWhileAnotherProgresses) {
  run_when_all_have_met(2, [](Child& child, const Comm& comm) {
    int values[2] = {};
    if (child.index == 1) {
      wait_any_send(7, 0, comm);
      expect_result(barrier(comm), HOCKET_OK);
      return;
    }
    hocket_work* works[] = {nullptr,
                            wait_any_receive(values[1], 1, comm)};  // which the other rank's calls begin with, too
    std::thread progresses([&] { expect_result(barrier(comm), HOCKET_OK); });
    std::size_t index = 99;
    expect_result(hocket_work_wait_any(2, works, 0, &index), HOCKET_OK);
    EXPECT_EQ(index, 1U);
    EXPECT_EQ(values[1], 7);
    progresses.join();
    hocket_work_release(works[1]);
  });
}

TEST(WaitAnyArguments, AreChecked) {
  run_ranks(1, [](Child&) {
    const Comm comm;
    ASSERT_TRUE(comm);
    std::size_t index = 99;
    expect_result(hocket_work_wait_any(0, nullptr, 0, &index), HOCKET_OK);
    EXPECT_EQ(index, 0U);
    hocket_work* works[2] = {};
    expect_result(hocket_work_wait_any(2, nullptr, 0, &index), HOCKET_INVALID_ARGUMENT);
    expect_message_names("works is null");
    expect_result(hocket_work_wait_any(2, works, 0, nullptr), HOCKET_INVALID_ARGUMENT);
    expect_message_names("index is null");
    expect_result(hocket_work_wait_any(2, works, -1, &index), HOCKET_INVALID_ARGUMENT);
    expect_result(hocket_barrier(comm.get(), nullptr, &works[1]), HOCKET_OK);
    expect_result(hocket_work_wait_any(2, works, 0, &index), HOCKET_OK);
    EXPECT_EQ(index, 1U) << "alone, all is complete at once";
    hocket_work_release(works[1]);
  });
}

TEST_P(WaitAny, IsRefusedInsideACompletionFunction) {
  run_when_all_have_met(2, [](Child& child, const Comm& comm) {
    const Comm other(duplicate(comm));  // a barrier's messages would meet the receive that waits
    static int never = 0;
    static hocket_work* pending = nullptr;
    pending = child.index == 0 ? wait_any_receive(never, 1, comm) : nullptr;
    hocket_work* work = nullptr;
    Call call({.collective = Collective::barrier}, child.index, child.size);
    expect_result(call.issue(other.get(), &work), HOCKET_OK);
    const auto ask = [](hocket_result, void*) {
      std::size_t index = 99;
      if (pending != nullptr) {
        expect_result(hocket_work_wait_any(1, &pending, 0, &index), HOCKET_INVALID_ARGUMENT);
        expect_message_names("completion function");
      }
    };
    expect_result(hocket_work_on_complete(work, ask, nullptr), HOCKET_OK);
    wait_and_release(work);
    if (child.index == 0) wait_any_send(1, 1, comm);  // from now on the other rank may send
    if (child.index == 1) {
      wait_and_release(wait_any_receive(never, 0, comm));
      wait_any_send(1, 0, comm);
    }
    if (pending != nullptr) wait_and_release(pending);
  });
}

TEST_P(WaitAny, IsThereInCpp) {
  run_ranks(2, [](Child& child) {
    hocket::Communicator comm = hocket::Communicator::create();
    int mine = child.index, values[2] = {-1, -1};
    std::vector<hocket::Work> works(2);
    EXPECT_EQ(hocket::wait_any(works), 2U);
    works[1] = comm.recv_async(std::span(&values[1], 1), 1 - child.index);
    comm.send(std::span<const int>(&mine, 1), 1 - child.index);
    EXPECT_EQ(hocket::wait_any(works), 1U);
    EXPECT_EQ(values[1], 1 - child.index);
  });
}

}  // namespace
}  // namespace hocket::process_testing
