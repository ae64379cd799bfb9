// What goes wrong while newcomers join.
#include <signal.h>

#include <string>

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
