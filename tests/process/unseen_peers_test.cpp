// A rank waits for one that it has no connection with, and those that would tell of that one's death have left.
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/hidden.hpp"
#include "tests/process/support/over_transports.hpp"

namespace hocket::process_testing {
namespace {

// On the ring 0 – 1 – 2 – 3 the neighbours of both.
constexpr int leaving[] = {0, 2};

using Wait = std::function<hocket_result(hocket_comm*, int victim)>;

// What each rank does with its communicator. The neighbours leave, the victim dies, and the rank that waits for it
// hears so.
void unseen_peers_be_rank(Child& child, int waiting, const Wait& wait) {
  {
    const Comm comm;
    ASSERT_TRUE(comm);
    child.say("here");
    EXPECT_EQ(child.hear(), "go");
    const int victim = 4 - waiting;
    if (child.index == victim) ::_exit(died);
    if (child.index == waiting) {
      expect_result(wait(comm.get(), victim), HOCKET_PEER_LOST);
      EXPECT_EQ(last_cause().peer, victim);
    }
  }
  child.say("left");
}

void expect_notice(ProcessGroup& group, int waiting) {
  group.hear_from_all("here");
  for (const int rank : leaving) group.tell(rank, "go");
  for (const int rank : leaving) EXPECT_EQ(group.hear(rank), "left");
  group.tell(4 - waiting, "go");
  group.tell(waiting, "go");
  EXPECT_EQ(group.hear(waiting), "left");
}

class UnseenPeers : public OverTransports {
 protected:
  // Whichever of the two would dial.
  static void expect_noticed(const Wait& wait) {
    for (const int waiting : {1, 3}) {
      SCOPED_TRACE(waiting);
      ProcessGroup group(ranks(), [&](Child& child) { unseen_peers_be_rank(child, waiting, wait); });
      expect_notice(group, waiting);
      const std::vector<Outcome> outcomes = group.wait();
      for (int rank = 0; rank < group.size(); ++rank) {
        EXPECT_EQ(outcomes[static_cast<std::size_t>(rank)].status, rank == 4 - waiting ? died : 0);
      }
    }
  }
};

hocket_result unseen_peers_receive(hocket_comm* comm, int from) {
  std::int32_t value = 0;
  return hocket_recv(&value, 1, HOCKET_INT32, from, comm, nullptr, nullptr);
}

TEST_P(UnseenPeers, AMessageIsNotWaitedForWhoseSenderHasDied) {
  expect_noticed(unseen_peers_receive);
}

TEST_P(UnseenPeers, AReceiveFromAnyRankEndsWhereTheLastSenderHasDied) {
  expect_noticed([](hocket_comm* comm, int) {
    std::int32_t value = 0, source = -1;
    return hocket_recv_any(&value, 1, HOCKET_INT32, &source, comm, nullptr, nullptr);
  });
}

INSTANTIATE_TEST_SUITE_P(Process, UnseenPeers,
                         testing::Combine(testing::Values(Ranks(4), Ranks("0123")), testing::Values("tcp", "auto")));

// Over a network the door tells.
TEST(UnseenPeersOutOfSight, AMessageIsNotWaitedForWhoseSenderHasDied) {
  if (!may_hide()) GTEST_SKIP() << "this user may make no namespaces";
  for (const int waiting : {1, 3}) {
    SCOPED_TRACE(waiting);
    ProcessGroup group(
        4, [&](Child& child) { hide(child, [&] { unseen_peers_be_rank(child, waiting, unseen_peers_receive); }); });
    expect_notice(group, waiting);
    group.expect_success(4 - waiting);
  }
}

}  // namespace
}  // namespace hocket::process_testing
