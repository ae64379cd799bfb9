// Ranks that see no process of each other, as on several hosts: who is dead, where a connection ends.
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/connections.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/hidden.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

constexpr int ranks = 4;

void hide_with_comm(Child& child, const std::function<void(hocket_comm*)>& body) {
  hide(child, [&] {
    const Comm comm;
    EXPECT_TRUE(comm);
    if (comm) body(comm.get());
  });
}

int shrink_once(hocket_comm* comm) {
  hocket_comm* handle = nullptr;
  if (hocket_comm_shrink(comm, &handle, nullptr) != HOCKET_OK) return 0;
  const Comm shrunk(handle);
  expect_result(hocket_barrier(handle, nullptr, nullptr), HOCKET_OK);
  std::int32_t size = 0;
  expect_result(hocket_comm_size(handle, &size), HOCKET_OK);
  return size;
}

int agreed_dead(hocket_comm* comm) {
  std::uint64_t flag = 1;
  std::vector<std::int32_t> dead(ranks);
  std::int32_t count = ranks;
  expect_result(hocket_comm_agree(comm, &flag, dead.data(), &count, nullptr), HOCKET_OK);
  return count;
}

class OutOfSight : public testing::Test {
 protected:
  void SetUp() override {
    if (!may_hide()) GTEST_SKIP() << "this user may make no namespaces";
    // A rank that cannot be asked may live, and tests beside this one make networks and take them away.
    ::setenv("HOCKET_SOCKET_IFNAME", "lo", 1);
  }
  void TearDown() override { ::unsetenv("HOCKET_SOCKET_IFNAME"); }
  // The rank that the others took for lost goes on last, after the others would have gone on without it.
  static void let_go_on(ProcessGroup& group) {
    std::vector<int> blamed;
    for (int rank = 0; rank < group.size(); ++rank) blamed.push_back(std::stoi(group.hear(rank)));
    const int last = blamed[1] == 1 ? blamed[2] : blamed[1];
    for (int rank = 0; rank < group.size(); ++rank) {
      if (rank != last) group.tell(rank, "go on");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    group.tell(last, "go on");
  }
};

TEST_F(OutOfSight, ARankToWhichOnlyAConnectionHasEndedIsWaitedFor) {
  ProcessGroup group(ranks, [](Child& child) {
    hide_with_comm(child, [&](hocket_comm* comm) {
      expect_result(hocket_barrier(comm, nullptr, nullptr), HOCKET_OK);
      child.say("here");
      EXPECT_EQ(child.hear(), "go");
      if (child.index == ranks - 1) {
        const auto connections = connections_beside(std::atoi(std::getenv("MASTER_PORT")));
        EXPECT_FALSE(connections.empty());
        for (const Connection& one : connections) ::shutdown(one.descriptor, SHUT_RDWR);
      }
      expect_result(allreduce_until_failure(comm, 10, [] {}), HOCKET_PEER_LOST);
      child.say(std::to_string(last_cause().peer));
      EXPECT_EQ(child.hear(), "go on");
      EXPECT_EQ(agreed_dead(comm), 0);
      EXPECT_EQ(shrink_once(comm), ranks) << hocket_last_error();
    });
  });
  group.hear_from_all("here");
  for (int rank = 0; rank < group.size(); ++rank) group.tell(rank, "go");
  let_go_on(group);
  group.expect_success();
}

TEST_F(OutOfSight, ARankThatHasDiedIsNot) {
  for (const int victim : {0, 2, ranks - 1}) {
    SCOPED_TRACE(victim);
    ProcessGroup group(ranks, [&](Child& child) {
      hide_with_comm(child, [&](hocket_comm* comm) {
        expect_result(hocket_barrier(comm, nullptr, nullptr), HOCKET_OK);
        child.say("here");
        EXPECT_EQ(child.hear(), "go");
        if (child.index == victim) ::_exit(died);
        expect_result(allreduce_until_failure(comm, 10, [] {}), HOCKET_PEER_LOST);
        EXPECT_EQ(last_cause().peer, victim);
        EXPECT_EQ(agreed_dead(comm), 1);
        EXPECT_EQ(shrink_once(comm), ranks - 1) << hocket_last_error();
      });
    });
    group.hear_from_all("here");
    for (int rank = 0; rank < group.size(); ++rank) group.tell(rank, "go");
    group.expect_success(victim);
  }
}

}  // namespace
}  // namespace hocket::process_testing
