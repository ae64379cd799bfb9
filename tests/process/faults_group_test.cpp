// Groups that fail: calls that are wrong, ranks that disagree, and ranks that die while a group runs.
#include <signal.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/with_comm.hpp"

namespace hocket::process_testing {
namespace {

hocket_result faults_group_send(std::vector<int>& values, Rank peer, const Comm& comm) {
  return hocket_send(values.data(), values.size(), HOCKET_INT32, peer, comm.get(), nullptr, nullptr);
}

hocket_result faults_group_receive(std::vector<int>& values, Rank peer, const Comm& comm) {
  return hocket_recv(values.data(), values.size(), HOCKET_INT32, peer, comm.get(), nullptr, nullptr);
}

class GroupFaults : public testing::TestWithParam<Ranks> {};

// What was called before the wrong call would reach the peer first.
TEST_P(GroupFaults, OneWrongCallAndNothingOfItStarts) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    std::vector<int> never(3, -1), values(5, 7), received(5);
    if (child.index == 0) {
      EXPECT_EQ(hocket_group_start(), HOCKET_OK);
      EXPECT_EQ(faults_group_send(never, 1, comm), HOCKET_OK);
      EXPECT_EQ(hocket_allreduce(never.data(), never.data(), 3, HOCKET_INT32, HOCKET_SUM, comm.get(), nullptr, nullptr),
                HOCKET_OK);
      expect_result(faults_group_send(never, 99, comm), HOCKET_INVALID_ARGUMENT);
      expect_message_names("peer is 99");
      expect_result(hocket_barrier(nullptr, nullptr, nullptr), HOCKET_INVALID_ARGUMENT);
      hocket_work* work = nullptr;
      expect_result(hocket_group_end(&work), HOCKET_INVALID_ARGUMENT);
      expect_message_names("peer is 99");  // the first, not the latest
      EXPECT_EQ(work, nullptr);
      EXPECT_EQ(faults_group_send(values, 1, comm), HOCKET_OK) << hocket_last_error();
    } else if (child.index == 1) {
      EXPECT_EQ(faults_group_receive(received, 0, comm), HOCKET_OK) << hocket_last_error();
      EXPECT_EQ(received, values);
    }
    Call({.count = 100}, child.index, child.size).run(comm.get());
  });
}

TEST_P(GroupFaults, CountsThatDifferNameBothRanks) {
  run_when_all_have_met(GetParam(), [](Child& child, const Comm& comm) {
    std::vector<int> fitting(50, child.index), ten(10), eleven(11);
    EXPECT_EQ(hocket_group_start(), HOCKET_OK);
    if (child.index == 0) {
      EXPECT_EQ(faults_group_send(fitting, 1, comm), HOCKET_OK);
      EXPECT_EQ(faults_group_send(ten, 1, comm), HOCKET_OK);
    } else if (child.index == 1) {
      EXPECT_EQ(faults_group_receive(fitting, 0, comm), HOCKET_OK);
      EXPECT_EQ(faults_group_receive(eleven, 0, comm), HOCKET_OK);
    }
    const hocket_result result = hocket_group_end(nullptr);
    if (child.index == 1) {
      expect_result(result, HOCKET_MISMATCH);
      EXPECT_EQ(fitting, std::vector<int>(50, 0)) << "what fits arrives";
    }
    expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_MISMATCH);
    expect_message_names("rank 0 called send of 10 int32 while rank 1 called recv of 11 int32");
  });
}

// The last rank has sent its part of the messages, and dies before it receives.
TEST_P(GroupFaults, ADeathInTheMidstEndsTheGroupOfAllOthers) {
  const int victim = GetParam().size - 1;
  ProcessGroup group(GetParam(), [&](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    constexpr std::size_t count = 2'000'000;
    std::vector<std::vector<int>> sent, received;
    EXPECT_EQ(hocket_group_start(), HOCKET_OK);
    for (Rank peer = 0; peer < child.size; ++peer) {
      sent.emplace_back(count, child.index);
      received.emplace_back(count);
      EXPECT_EQ(faults_group_send(sent.back(), peer, comm), HOCKET_OK);
      if (child.index != victim || peer == victim) {
        EXPECT_EQ(faults_group_receive(received.back(), peer, comm), HOCKET_OK);
      }
    }
    hocket_work* work = nullptr;
    ASSERT_EQ(hocket_group_end(&work), HOCKET_OK) << hocket_last_error();
    child.say("started");
    if (child.index == victim) child.hear();  // until it is killed
    expect_result(hocket_work_wait(work, 0), HOCKET_PEER_LOST);
    EXPECT_EQ(last_cause().peer, victim) << hocket_last_error();
    EXPECT_EQ(hocket_work_release(work), HOCKET_OK);
    expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_PEER_LOST);
    EXPECT_EQ(hocket_group_start(), HOCKET_OK);
    expect_result(faults_group_send(sent.front(), victim, comm), HOCKET_PEER_LOST);
    expect_result(hocket_group_end(nullptr), HOCKET_PEER_LOST);
  });
  group.hear_from_all("started");
  group.signal(victim, SIGKILL);
  group.expect_success(victim);
}

TEST_P(GroupFaults, ADeadlineNamesWhoDidNotCome) {
  run_when_all_have_met(GetParam(), [](Child& child, const Comm& comm) {
    if (child.index == 0) {
      std::vector<int> values(3), received(3);
      hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
      options.timeout_ms = 100;
      expect_result(
          hocket_sendrecv(values.data(), 3, 1, received.data(), 3, 1, HOCKET_INT32, comm.get(), &options, nullptr),
          HOCKET_TIMEOUT);
      expect_message_names("receiving from rank 1");
    }
    while (hocket_comm_status(comm.get()) == HOCKET_OK) std::this_thread::yield();
    expect_result(hocket_comm_status(comm.get()), HOCKET_TIMEOUT);
    EXPECT_EQ(last_cause().peer, 1);
  });
}

// Neither has sent anything, so only the deadline ends it; a rank that waits says so once a second.
TEST(MessageFaults, AReceiveFromOneThatWaitsInACollectiveNamesBoth) {
  run_when_all_have_met("01", [](Child& child, const Comm& comm) {
    std::vector<int> values(3);
    if (child.index == 0) {
      hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
      options.timeout_ms = 1600;
      expect_result(hocket_recv(values.data(), 3, HOCKET_INT32, 1, comm.get(), &options, nullptr), HOCKET_TIMEOUT);
      expect_message_names(
          "recv of 3 int32 did not finish before its deadline: still receiving from rank 1; rank 1 said "
          "that it waits in broadcast of 3 int32, from root 0");
      EXPECT_STREQ(last_cause().operation, "recv");
    } else {
      expect_result(hocket_broadcast(values.data(), values.data(), 3, HOCKET_INT32, 0, comm.get(), nullptr, nullptr),
                    HOCKET_TIMEOUT);
    }
  });
}

TEST(MessageFaults, RanksThatReceiveFromEachOtherAreSaidToReceive) {
  run_when_all_have_met("01", [](Child& child, const Comm& comm) {
    std::vector<int> values(5);
    hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
    options.timeout_ms = child.index == 0 ? 1600 : 0;
    const std::size_t count = child.index == 0 ? 3 : 5;
    expect_result(hocket_recv(values.data(), count, HOCKET_INT32, 1 - child.index, comm.get(), &options, nullptr),
                  HOCKET_TIMEOUT);
    expect_message_names(
        "recv of 3 int32 did not finish before its deadline: still receiving from rank 1; rank 1 said "
        "that it waits in recv of 5 int32");
  });
}

INSTANTIATE_TEST_SUITE_P(Of, GroupFaults, testing::Values(2, 3, "01", "0011"), testing::PrintToStringParamName());

}  // namespace
}  // namespace hocket::process_testing
