// What goes wrong while newcomers join.
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "tests/process/support/joining.hpp"

namespace hocket::process_testing {
namespace {

class JoinFaults : public testing::Test {
 protected:
  WithSharedStore shared_{SharedStore::daemon, "auto"};
};

// A newcomer that is stopped keeps the attempt from ending until it is killed.
TEST_F(JoinFaults, AnotherNewcomerTakesTheOneThatDied) {
  ProcessGroup group = shared_.fork(4, [](Child& child) {
    const auto before = child.index < 2 ? members(child.index, 2) : newcomer();
    if (child.index != 2) {
      child.say("here");
      EXPECT_EQ(child.hear(), "join");
    }
    const Comm joined(join(before->get(), newcomers(1)));
    expect_whole(joined.get(), 3, 2);
  });
  for (const int index : {0, 1, 3}) EXPECT_EQ(group.hear(index), "here");
  shared_.expect_newcomer();
  group.signal(2, SIGSTOP);
  for (const int index : {0, 1}) group.tell(index, "join");
  shared_.expect_invitation();
  group.signal(2, SIGKILL);
  group.tell(3, "join");
  group.expect_success(2);
}

TEST_F(JoinFaults, SurvivorsOfAMemberShrinkAndJoinAgain) {
  for (const int victim : {0, 1}) {
    ProcessGroup group = shared_.fork(4, [](Child& child) {
      std::unique_ptr<Comm> comm;
      if (child.index < 3) {
        const auto first = members(child.index, 3);
        child.say("here");
        EXPECT_EQ(child.hear(), "join");
        EXPECT_EQ(join(first->get(), newcomers(1), HOCKET_PEER_LOST), nullptr);
        hocket_comm* handle = nullptr;
        expect_result(hocket_comm_shrink(first->get(), &handle, nullptr), HOCKET_OK);
        comm = std::make_unique<Comm>(handle);
      }
      const Comm joined(join(comm ? comm->get() : nullptr, newcomers(1)));
      expect_whole(joined.get(), 3, 2);
    });
    for (const int index : {0, 1, 2}) EXPECT_EQ(group.hear(index), "here");
    shared_.expect_newcomer();
    group.signal(3, SIGSTOP);
    for (const int index : {0, 1, 2}) group.tell(index, "join");
    shared_.expect_invitation();
    group.signal(victim, SIGKILL);
    group.signal(3, SIGCONT);
    group.expect_success(victim);
  }
}

// Calls until everyone who is there has been told to end, and shrinks whenever the communicator breaks. Returns how
// many there are in the end.
int survive(Child& child, std::unique_ptr<Comm> comm) {
  for (bool ends = false;;) {
    ends = ends || child.parent.has_news();
    std::int32_t values[] = {1, ends ? 1 : 0};
    const hocket_result result =
        hocket_allreduce(values, values, 2, HOCKET_INT32, HOCKET_SUM, comm->get(), nullptr, nullptr);
    if (result == HOCKET_OK && values[0] == values[1]) return values[0];
    if (result == HOCKET_OK) continue;
    hocket_comm* shrunk = nullptr;
    expect_result(hocket_comm_shrink(comm->get(), &shrunk, nullptr), HOCKET_OK);
    if (shrunk == nullptr) return 0;
    comm = std::make_unique<Comm>(shrunk);
  }
}

// Whenever the member dies, before the others have the larger communicator or after, they all have it or none has.
TEST_F(JoinFaults, SurvivorsAgreeWheneverAMemberDies) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random{seed};
  std::uniform_int_distribution<> delay(0, 60'000);
  for (int round = 0; round < 20; ++round) {
    const int victim = round % 3;
    ProcessGroup group = shared_.fork(4, [](Child& child) {
      auto comm = child.index < 3 ? members(child.index, 3) : newcomer();
      child.say("here");
      EXPECT_EQ(child.hear(), "join");
      hocket_comm* joined = nullptr;
      hocket_join_options one = newcomers(1);
      while (hocket_comm_join(comm->get(), &joined, &one, nullptr) != HOCKET_OK) {
        ASSERT_LT(child.index, 3) << hocket_last_error();
        hocket_comm* shrunk = nullptr;
        expect_result(hocket_comm_shrink(comm->get(), &shrunk, nullptr), HOCKET_OK);
        ASSERT_NE(shrunk, nullptr);
        comm = std::make_unique<Comm>(shrunk);
      }
      EXPECT_EQ(survive(child, std::make_unique<Comm>(joined)), 3);
    });
    group.hear_from_all("here");
    for (int index = 0; index < 4; ++index) group.tell(index, "join");
    std::this_thread::sleep_for(std::chrono::microseconds(delay(random)));
    group.signal(victim, SIGKILL);
    for (int index = 0; index < 4; ++index) group.tell(index, "end");
    group.expect_success(victim);
    if (HasFailure()) return;
  }
}

TEST_F(JoinFaults, WithoutTheStoreMembersAndNewcomersAreToldAndTheMembersGoOn) {
  ProcessGroup group = shared_.fork(3, [](Child& child) {
    hocket_join_options two = newcomers(2);
    two.timeout_ms = 60'000;
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.timeout_ms = 2000;  // for those that come to the store only when it is gone
    const auto before = child.index < 2 ? members(child.index, 2) : newcomer();
    if (child.index < 2) child.say("here");
    EXPECT_EQ(join(before->get(), two, HOCKET_STORE_UNREACHABLE, &options), nullptr);
    if (child.index < 2) expect_result(hocket_barrier(before->get(), nullptr, nullptr), HOCKET_OK);
  });
  for (const int index : {0, 1}) EXPECT_EQ(group.hear(index), "here");
  shared_.expect_newcomer();
  shared_.daemon().signal(SIGKILL);
  group.expect_success();
}

TEST_F(JoinFaults, OfOtherOptionsAreAMismatchOnAll) {
  shared_.run(3, [](Child& child) {
    const auto before = child.index < 2 ? members(child.index, 2) : newcomer();
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.deterministic = child.index == 2 ? 1 : 0;
    EXPECT_EQ(join(before->get(), newcomers(1), HOCKET_MISMATCH, &options), nullptr);
    if (child.index < 2) expect_result(hocket_barrier(before->get(), nullptr, nullptr), HOCKET_OK);
  });
}

TEST_F(JoinFaults, OfOtherPointsAreAMismatchOnTheMembers) {
  shared_.run(2, [](Child& child) {
    const auto comm = members(child.index, 2);
    hocket_join_options one = newcomers(1);
    one.point = child.index == 0 ? "here" : "there";
    EXPECT_EQ(join(comm->get(), one, HOCKET_MISMATCH), nullptr);
    expect_message_names("\"here\"");
    expect_message_names("\"there\"");
    EXPECT_EQ(last_cause().peer, 1);
    expect_result(hocket_barrier(comm->get(), nullptr, nullptr), HOCKET_OK);
  });
}

TEST_F(JoinFaults, WrongArgumentsAreNamed) {
  shared_.run(1, [](Child&) {
    hocket_join_options options = newcomers(-1);
    EXPECT_EQ(join(nullptr, options, HOCKET_INVALID_ARGUMENT), nullptr);
    expect_message_names("join.newcomers_min is -1");
    options = newcomers(2);
    options.newcomers_max = 1;
    EXPECT_EQ(join(nullptr, options, HOCKET_INVALID_ARGUMENT), nullptr);
    expect_message_names("join.newcomers_max is 1");
    options = newcomers(1);
    options.point = "";
    EXPECT_EQ(join(nullptr, options, HOCKET_INVALID_ARGUMENT), nullptr);
    expect_message_names("join.point");
    ::unsetenv("HOCKET_STORE");
    EXPECT_EQ(join(nullptr, newcomers(1), HOCKET_INVALID_ENVIRONMENT), nullptr);
    expect_message_names("a store that does not end with a rank");
  });
}

}  // namespace
}  // namespace hocket::process_testing
