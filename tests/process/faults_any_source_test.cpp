// Receives from any rank that fail: nobody sends, somebody dies or leaves, calls do not fit.
#include <signal.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/over_transports.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/with_comm.hpp"

namespace hocket::process_testing {
namespace {

hocket_result faulty_receive_any(std::vector<int>& values, std::int32_t& source, hocket_comm* comm, int timeout_ms = 0,
                                 hocket_work** work = nullptr) {
  hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
  options.timeout_ms = timeout_ms;
  return hocket_recv_any(values.data(), values.size(), HOCKET_INT32, &source, comm, &options, work);
}

hocket_result faulty_send(const std::vector<int>& values, Rank to, hocket_comm* comm) {
  return hocket_send(values.data(), values.size(), HOCKET_INT32, to, comm, nullptr, nullptr);
}

void expect_broken(hocket_comm* comm, hocket_result result) {
  while (hocket_comm_status(comm) == HOCKET_OK) std::this_thread::yield();
  expect_result(hocket_comm_status(comm), result);
}

class AnySourceFaults : public OverTransports {};

TEST_P(AnySourceFaults, ADeadlineSaysThatNobodyHasSent) {
  run_when_all_have_met(ranks(), [](Child& child, const Comm& comm) {
    if (child.index == 0) {
      std::vector<int> values(3);
      std::int32_t source = -7;
      expect_result(faulty_receive_any(values, source, comm.get(), 100), HOCKET_TIMEOUT);
      expect_message_names("recv of 3 int32 from any rank: no rank sent anything before its deadline");
      EXPECT_STREQ(last_cause().operation, "recv");
      EXPECT_EQ(last_cause().rank, 0);
      EXPECT_GE(last_cause().elapsed_seconds, 0.1);
    }
    expect_broken(comm.get(), HOCKET_TIMEOUT);
    expect_message_names("from any rank");
  });
}

TEST_P(AnySourceFaults, ADeadlineSaysWhatARankWaitsInInstead) {
  run_when_all_have_met(ranks(), [](Child& child, const Comm& comm) {
    std::vector<int> values(3);
    std::int32_t source = -7;
    if (child.index == 0) {
      expect_result(faulty_receive_any(values, source, comm.get(), 500), HOCKET_TIMEOUT);
      expect_message_names("from any rank");
    } else {
      hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;  // by which it goes over links on every transport
      options.function = [](void*, const void*, const void*, size_t, hocket_dtype, void*) {};
      std::vector<int> sums(3);
      expect_result(
          hocket_allreduce(values.data(), sums.data(), 3, HOCKET_INT32, HOCKET_USER, comm.get(), &options, nullptr),
          HOCKET_TIMEOUT);
    }
    if (child.size == 2) expect_message_names("rank 1 waits in allreduce of");
  });
}

// The last rank is killed while the first waits for anybody, by a blocking call and by two that are pending.
TEST_P(AnySourceFaults, ADeathEndsIt) {
  const int victim = ranks().size - 1;
  for (const bool asynchronous : {false, true}) {
    ProcessGroup group(ranks(), [&](Child& child) {
      const Comm comm;
      ASSERT_TRUE(comm);
      std::vector<int> values(5, child.index), others(5);
      std::int32_t source = -7, other_source = -7;
      if (child.index == victim) {
        EXPECT_EQ(faulty_send(values, 0, comm.get()), HOCKET_OK);
      }
      if (child.index == 0) {
        expect_result(faulty_receive_any(values, source, comm.get()), HOCKET_OK);
        EXPECT_EQ(source, victim);
      }
      hocket_work *first = nullptr, *second = nullptr;
      if (child.index == 0 && asynchronous) {
        expect_result(faulty_receive_any(values, source, comm.get(), 0, &first), HOCKET_OK);
        expect_result(faulty_receive_any(others, other_source, comm.get(), 0, &second), HOCKET_OK);
      }
      child.say("waits");
      if (child.index == victim) child.hear();  // until it is killed
      if (child.index == 0 && asynchronous) {
        expect_result(hocket_work_wait(second, 0), HOCKET_PEER_LOST);
        expect_result(hocket_work_wait(first, 0), HOCKET_PEER_LOST);
        for (hocket_work* work : {first, second}) hocket_work_release(work);
      } else if (child.index == 0) {
        expect_result(faulty_receive_any(values, source, comm.get()), HOCKET_PEER_LOST);
      } else {
        expect_broken(comm.get(), HOCKET_PEER_LOST);
      }
      EXPECT_EQ(last_cause().peer, victim) << hocket_last_error();
    });
    group.hear_from_all("waits");
    group.signal(victim, SIGKILL);
    group.expect_success(victim);
  }
}

// Ranks leave in good order, one of them before the receiver connects to all. What the last one has sent before it left
// still comes.
TEST_P(AnySourceFaults, WhoHasLeftIsNoErrorUntilAllHave) {
  const int receiver = ranks().size - 1;
  ProcessGroup group(ranks(), [&](Child& child) {
    {
      const Comm comm;
      ASSERT_TRUE(comm);
      child.say("here");
      EXPECT_EQ(child.hear(), "go on");
      std::vector<int> values(5, child.index);
      if (child.index == receiver) {
        std::int32_t source = -7;
        expect_result(faulty_receive_any(values, source, comm.get()), HOCKET_OK);
        EXPECT_EQ(source, 0);
        EXPECT_THAT(values, testing::Each(0));
        expect_result(faulty_receive_any(values, source, comm.get()), HOCKET_PEER_LOST);
        expect_message_names("recv of 5 int32 from any rank: nobody is left who could send: ranks ");
      } else if (child.index == 0) {
        EXPECT_EQ(faulty_send(values, receiver, comm.get()), HOCKET_OK) << hocket_last_error();
      }
    }
    child.say("left");
  });
  group.hear_from_all("here");
  const auto leave = [&](int index) {
    group.tell(index, "go on");
    EXPECT_EQ(group.hear(index), "left");
  };
  if (receiver > 2) leave(2);
  group.tell(receiver, "go on");
  for (int index = 1; index < receiver; ++index) {
    if (index != 2) leave(index);
  }
  leave(0);
  EXPECT_EQ(group.hear(receiver), "left");
  group.expect_success();
}

// One that is silent, and has never spoken to the receiver, holds up nobody.
TEST_P(AnySourceFaults, AStoppedRankDoesNotMatter) {
  const int stopped = ranks().size - 1;
  if (stopped < 2) return;
  ProcessGroup group(ranks(), [&](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    child.say("here");
    EXPECT_EQ(child.hear(), "go on");
    std::vector<int> values(5, child.index);
    if (child.index == 1) {
      EXPECT_EQ(faulty_send(values, 0, comm.get()), HOCKET_OK) << hocket_last_error();
    }
    if (child.index == 0) {
      std::int32_t source = -7;
      expect_result(faulty_receive_any(values, source, comm.get(), 20'000), HOCKET_OK);
      EXPECT_EQ(source, 1);
    }
    child.say("done");
    EXPECT_EQ(child.hear(), "leave");
  });
  group.hear_from_all("here");
  group.signal(stopped, SIGSTOP);
  for (const int index : {0, 1}) group.tell(index, "go on");
  for (const int index : {0, 1}) EXPECT_EQ(group.hear(index), "done");
  group.signal(stopped, SIGCONT);
  for (int index = 2; index < group.size(); ++index) group.tell(index, "go on");
  for (int index = 2; index < group.size(); ++index) EXPECT_EQ(group.hear(index), "done");
  for (int index = 0; index < group.size(); ++index) group.tell(index, "leave");
  group.expect_success();
}

TEST_P(AnySourceFaults, CallsThatDoNotFitNameBothRanks) {
  for (const int sent : {10, 0}) {
    run_when_all_have_met(ranks(), [&](Child& child, const Comm& comm) {
      if (child.index == 1) {
        EXPECT_EQ(faulty_send(std::vector<int>(static_cast<std::size_t>(sent)), 0, comm.get()), HOCKET_OK);
      }
      if (child.index == 0) {
        std::vector<int> eleven(11);
        std::int32_t source = -7;
        expect_result(faulty_receive_any(eleven, source, comm.get()), HOCKET_MISMATCH);
        EXPECT_EQ(source, -7);
      }
      expect_broken(comm.get(), HOCKET_MISMATCH);
      expect_message_names("rank 1 called send of " + std::to_string(sent) +
                           " int32 while rank 0 called recv of 11 int32");
    });
  }
}

TEST_P(AnySourceFaults, AnAbortEndsIt) {
  run_when_all_have_met(ranks(), [](Child& child, const Comm& comm) {
    std::vector<int> values(3);
    std::int32_t source = -7;
    if (child.index == 1) {
      EXPECT_EQ(hocket_comm_abort(comm.get(), "enough"), HOCKET_OK);
    } else if (child.index == 0) {
      expect_result(faulty_receive_any(values, source, comm.get()), HOCKET_ABORTED);
    }
    expect_broken(comm.get(), HOCKET_ABORTED);
    expect_message_names("enough");
  });
}

INSTANTIATE_TEST_SUITE_P(Of, AnySourceFaults, testing::Combine(testing::Values(2, 5), testing::Values("tcp", "shm")));
INSTANTIATE_TEST_SUITE_P(Hosts, AnySourceFaults, testing::Combine(testing::Values("00101"), testing::Values("auto")));

}  // namespace
}  // namespace hocket::process_testing
