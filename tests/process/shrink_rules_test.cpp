// Who is left out when a communicator is shrunk, who is waited for, and what those are told who are left out.
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/children.hpp"
#include "tests/process/support/connections.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/over_transports.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/with_comm.hpp"

namespace hocket::process_testing {
namespace {

// Shrinks; the number of ranks that go on, and 0 and the failure's cause where this one does not.
int shrink_with(hocket_comm* comm, const hocket_shrink_options* options = nullptr) {
  hocket_comm* handle = nullptr;
  if (hocket_comm_shrink(comm, &handle, options) != HOCKET_OK) return 0;
  const Comm shrunk(handle);
  std::int32_t one = 1;
  expect_result(hocket_allreduce(&one, &one, 1, HOCKET_INT32, HOCKET_SUM, handle, nullptr, nullptr), HOCKET_OK);
  expect_result(hocket_barrier(handle, nullptr, nullptr), HOCKET_OK);
  return one;
}

hocket_shrink_options patient_for(std::int64_t patience_ms, std::int64_t timeout_ms = 30'000) {
  hocket_shrink_options options = HOCKET_SHRINK_OPTIONS_INIT;
  options.patience_ms = patience_ms;
  options.timeout_ms = timeout_ms;
  return options;
}

class ShrinkRules : public OverTransport {};

// One that is only stopped is waited for in vain once, and not again; back, it learns that the others have gone on.
TEST_P(ShrinkRules, AStoppedRankIsLeftOutAndToldSoWhenItComesBack) {
  static constexpr int victim = 1;
  ProcessGroup group(4, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    child.say("here");
    hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
    options.timeout_ms = child.index == victim ? 60'000 : 1000;
    const hocket_result result = allreduce_until_failure(
        comm.get(), 1000, [] {}, &options);
    expect_result(result, HOCKET_TIMEOUT);
    EXPECT_EQ(last_cause().peer, victim);
    const int left = shrink_with(comm.get());
    EXPECT_EQ(left, child.index == victim ? 0 : 3);
    if (child.index == victim) {
      const hocket_cause cause = last_cause();
      EXPECT_EQ(cause.code, HOCKET_EXCLUDED) << cause.message;
      EXPECT_EQ(cause.peer, victim);
      expect_message_names("goes on without rank 1");
    }
    child.say("done");
    (void)child.hear();
  });
  group.hear_from_all("here");
  group.signal(victim, SIGSTOP);
  for (const int rank : {0, 2, 3}) EXPECT_EQ(group.hear(rank), "done");
  group.signal(victim, SIGCONT);
  EXPECT_EQ(group.hear(victim), "done");
  for (int rank = 0; rank < 4; ++rank) group.tell(rank, "leave");
  group.expect_success();
}

// Aborts the communicator of all; then those that `shrinks` is true of shrink it, while the others are alive and stay
// away until these are done.
void shrink_while_others_stay_away(int size, const std::function<bool(int)>& shrinks,
                                   const std::function<void(hocket_comm*)>& body) {
  ProcessGroup group(size, [&](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    child.say("here");
    EXPECT_EQ(child.hear(), "go on");
    EXPECT_EQ(hocket_comm_abort(comm.get(), "test"), HOCKET_OK);
    if (shrinks(child.index)) body(comm.get());
    child.say("done");
    EXPECT_EQ(child.hear(), "leave");
  });
  group.hear_from_all("here");
  for (int rank = 0; rank < size; ++rank) group.tell(rank, "go on");
  group.hear_from_all("done");
  for (int rank = 0; rank < size; ++rank) group.tell(rank, "leave");
  group.expect_success();
}

TEST_P(ShrinkRules, ARankThatStaysAwayIsLeftOutByAMajorityWhenPatienceEnds) {
  shrink_while_others_stay_away(
      4, [](int rank) { return rank != 0; },
      [](hocket_comm* comm) {
        const auto options = patient_for(300);
        EXPECT_EQ(shrink_with(comm, &options), 3) << hocket_last_error();
      });
}

TEST_P(ShrinkRules, AMinorityDoesNotGoOnUnlessItIsAskedTo) {
  for (const bool minority : {false, true}) {
    shrink_while_others_stay_away(
        3, [](int rank) { return rank == 2; },
        [&](hocket_comm* comm) {
          auto options = patient_for(200, minority ? 30'000 : 1200);
          options.minority = minority ? 1 : 0;
          EXPECT_EQ(shrink_with(comm, &options), minority ? 1 : 0);
          if (minority) return;
          EXPECT_EQ(last_cause().code, HOCKET_TIMEOUT);
          expect_message_names("too few ranks have come");
        });
  }
}

TEST_P(ShrinkRules, AWorkingCommunicatorIsAbortedFirst) {
  run_when_all_have_met(3, [](Child& child, const Comm& comm) {
    if (child.index != 1) {
      EXPECT_EQ(allreduce_until_failure(comm.get(), 10, [] {}), HOCKET_ABORTED);
    }
    EXPECT_EQ(shrink_with(comm.get()), 3);
    EXPECT_EQ(hocket_comm_status(comm.get()), HOCKET_ABORTED);
  });
}

// Ranks end one after the other, until one is alone.
TEST_P(ShrinkRules, AShrunkCommunicatorCanBeShrunkAgain) {
  constexpr int size = 5;
  run_when_all_have_met(size, [](Child& child, const Comm& comm) {
    std::vector<std::unique_ptr<Comm>> made;
    hocket_comm* last = comm.get();
    for (const int next : {2, 0, 4, 1}) {
      if (child.index == next) ::_exit(0);
      EXPECT_EQ(allreduce_until_failure(last, 10, [] {}), HOCKET_PEER_LOST);
      hocket_comm* shrunk = nullptr;
      ASSERT_EQ(hocket_comm_shrink(last, &shrunk, nullptr), HOCKET_OK) << hocket_last_error();
      made.push_back(std::make_unique<Comm>(shrunk));
      last = shrunk;
      expect_result(hocket_barrier(last, nullptr, nullptr), HOCKET_OK);  // all have it before the next one ends
    }
    std::int32_t left = 0;
    EXPECT_EQ(hocket_comm_size(last, &left), HOCKET_OK);
    EXPECT_EQ(left, 1);
    EXPECT_EQ(hocket_barrier(last, nullptr, nullptr), HOCKET_OK);
  });
}

TEST_P(ShrinkRules, AChildOfADeadRankThatLivesHidesNothing) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ProcessGroup group(3, [&](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    if (child.index == 1 && ::fork() == 0) {
      ::close(ends[1]);
      char byte = 0;
      (void)!::read(ends[0], &byte, 1);  // lives until the test closes the other end
      ::_exit(0);
    }
    ::close(ends[1]);
    child.say("here");
    EXPECT_NE(allreduce_until_failure(comm.get(), 100, [] {}), HOCKET_OK);
    EXPECT_EQ(shrink_with(comm.get()), 2) << hocket_last_error();
    child.say("done");
  });
  group.hear_from_all("here");
  group.signal(1, SIGKILL);
  for (const int rank : {0, 2}) EXPECT_EQ(group.hear(rank), "done");
  group.expect_success(1);
  ::close(ends[0]);
  ::close(ends[1]);
}

// Both ends of a connection see it end, and so take each other for dead, although nobody is.
TEST(Shrink, GoesOnWithAllWhereOnlyAConnectionHasEnded) {
  ProcessGroup group(4, [](Child& child) {
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);
    const Comm comm;
    ASSERT_TRUE(comm);
    expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);
    child.say("here");
    EXPECT_EQ(child.hear(), "go");
    if (child.index == 1) {
      const auto connections = connections_beside(std::atoi(std::getenv("MASTER_PORT")));
      ASSERT_FALSE(connections.empty());
      for (const Connection& one : connections) ::shutdown(one.descriptor, SHUT_RDWR);
    }
    expect_result(allreduce_until_failure(comm.get(), 10, [] {}), HOCKET_PEER_LOST);
    EXPECT_EQ(shrink_with(comm.get()), 4) << hocket_last_error();
  });
  group.hear_from_all("here");
  for (int rank = 0; rank < group.size(); ++rank) group.tell(rank, "go");
  group.expect_success();
}

INSTANTIATE_TEST_SUITE_P(Over, ShrinkRules, testing::Values("auto", "tcp"),
                         [](const testing::TestParamInfo<std::string>& of) { return of.param; });

TEST(Shrink, InTheBackgroundAndOnItsOwnThread) {
  run_when_all_have_met(3, [](Child& child, const Comm& comm) {
    EXPECT_EQ(hocket_comm_abort(comm.get(), "test"), HOCKET_OK);
    if (child.index == 2) {
      EXPECT_EQ(shrink_with(comm.get()), 3) << hocket_last_error();
      return;
    }
    hocket_creation* creation = nullptr;
    ASSERT_EQ(hocket_comm_shrink_start(comm.get(), &creation, nullptr), HOCKET_OK);
    hocket_comm* handle = nullptr;
    expect_result(hocket_creation_wait(creation, 0, &handle), HOCKET_OK);
    const Comm shrunk(handle);
    std::int32_t one = 1;
    EXPECT_EQ(hocket_allreduce(&one, &one, 1, HOCKET_INT32, HOCKET_SUM, handle, nullptr, nullptr), HOCKET_OK);
    EXPECT_EQ(one, 3);
    EXPECT_EQ(hocket_barrier(handle, nullptr, nullptr), HOCKET_OK);
    EXPECT_EQ(hocket_creation_destroy(creation), HOCKET_OK);
  });
}

// The other rank is alive, and does not come.
TEST(Shrink, GivenUpInTheBackgroundItEnds) {
  shrink_while_others_stay_away(
      2, [](int rank) { return rank == 0; },
      [](hocket_comm* comm) {
        hocket_creation* creation = nullptr;
        ASSERT_EQ(hocket_comm_shrink_start(comm, &creation, nullptr), HOCKET_OK);
        EXPECT_EQ(hocket_creation_test(creation), HOCKET_IN_PROGRESS);
        EXPECT_EQ(hocket_creation_destroy(creation), HOCKET_OK);
      });
}

TEST(Shrink, RefusesWhatItCannotDo) {
  run_ranks_with_comm(2, [](Child&, const Comm& comm) {
    hocket_comm* shrunk = nullptr;
    expect_result(hocket_comm_shrink(nullptr, &shrunk, nullptr), HOCKET_INVALID_ARGUMENT);
    expect_result(hocket_comm_shrink(comm.get(), nullptr, nullptr), HOCKET_INVALID_ARGUMENT);
    for (auto [timeout_ms, patience_ms, minority] : {std::tuple{-1, 0, 0}, {0, -1, 0}, {0, 0, 2}}) {
      hocket_shrink_options options = patient_for(patience_ms, timeout_ms);
      options.minority = minority;
      expect_result(hocket_comm_shrink(comm.get(), &shrunk, &options), HOCKET_INVALID_ARGUMENT);
    }
    const Comm shared(duplicate(comm, Links::shared));
    hocket_comm* const child = shared.get();
    expect_result(hocket_comm_shrink(child, &shrunk, nullptr), HOCKET_UNSUPPORTED);
    expect_message_names("cannot be shrunk");
    EXPECT_EQ(shrunk, nullptr);
    EXPECT_EQ(hocket_comm_status(comm.get()), HOCKET_OK);
    EXPECT_EQ(hocket_comm_status(child), HOCKET_OK) << "refused, it is left as it is";
    EXPECT_EQ(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);
  });
}

}  // namespace
}  // namespace hocket::process_testing
