// Ranks that die, stop, or give up: every other rank learns of it, by name, and nobody hangs.
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

using testing::HasSubstr;

// A communicator's later calls all end with what broke it.
void faults_peer_expect_broken(hocket_comm* comm, hocket_result code, int32_t peer) {
  float value = 1;
  const auto check = [&](const char* call, hocket_result result) {
    expect_result(result, code, std::string("a later ") + call);
    EXPECT_EQ(last_cause().peer, peer) << "a later " << call << ": " << hocket_last_error();
  };
  check("barrier", hocket_barrier(comm, nullptr, nullptr));
  check("allreduce", hocket_allreduce(&value, &value, 1, HOCKET_FLOAT32, HOCKET_SUM, comm, nullptr, nullptr));
  check("status", hocket_comm_status(comm));
  hocket_work* work = nullptr;
  hocket_result result = hocket_barrier(comm, nullptr, &work);
  if (result == HOCKET_OK) result = hocket_work_wait(work, 0);
  check("asynchronous barrier", result);
  hocket_work_release(work);
}

void expect_lost(hocket_comm* comm, hocket_result found, int victim) {
  expect_result(found, HOCKET_PEER_LOST);
  const hocket_cause cause = last_cause();
  EXPECT_EQ(cause.peer, victim) << cause.message;
  EXPECT_THAT(std::string(cause.message), HasSubstr(std::to_string(victim)));
  faults_peer_expect_broken(comm, HOCKET_PEER_LOST, victim);
}

// ---- killed

class KilledRank : public testing::TestWithParam<Ranks> {
 protected:
  // A moment at which the loop of allreduces is anywhere. The seed changes which, not whether the test must pass.
  void let_it_run() {
    std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution<>(0, 20'000)(random_)));
  }

  std::mt19937 random_{std::random_device{}()};
};

TEST_P(KilledRank, EndsTheAllreducesOfAllOthers) {
  for (int victim = 0; victim < GetParam().size; ++victim) {
    for (const std::size_t count : {1, 3000, 1'000'000}) {
      SCOPED_TRACE("victim " + std::to_string(victim) + ", count " + std::to_string(count));
      ProcessGroup group(GetParam(), [&](Child& child) {
        const Comm comm;
        ASSERT_TRUE(comm);
        int rounds = 0;
        const hocket_result result = allreduce_until_failure(comm.get(), count, [&] {
          if (++rounds == 3) child.say("looping");
        });
        expect_lost(comm.get(), result, victim);
      });
      group.hear_from_all("looping");
      let_it_run();
      group.signal(victim, SIGKILL);
      group.expect_success(victim);
      if (HasFailure()) return;
    }
  }
}

TEST_P(KilledRank, EndsWhatIsInFlight) {
  for (int victim = 0; victim < GetParam().size; ++victim) {
    SCOPED_TRACE("victim " + std::to_string(victim));
    ProcessGroup group(GetParam(), [&](Child& child) {
      const Comm comm;
      ASSERT_TRUE(comm);
      constexpr std::size_t count = 100'000;
      std::vector<std::vector<float>> values(10, std::vector<float>(count, 1));
      std::vector<hocket_work*> work(values.size(), nullptr);
      // The victim never comes to the last one.
      for (std::size_t i = 0; i + (child.index == victim ? 1 : 0) < values.size(); ++i) {
        ASSERT_EQ(hocket_allreduce(values[i].data(), values[i].data(), count, HOCKET_FLOAT32, HOCKET_SUM, comm.get(),
                                   nullptr, &work[i]),
                  HOCKET_OK)
            << hocket_last_error();
      }
      child.say("started");
      if (child.index == victim) (void)child.hear();
      for (std::size_t i = 0; i + 1 < work.size(); ++i) {
        const hocket_result result = hocket_work_wait(work[i], 0);
        if (result != HOCKET_OK) expect_result(result, HOCKET_PEER_LOST);
      }
      expect_lost(comm.get(), hocket_work_wait(work.back(), 0), victim);
      for (hocket_work* one : work) hocket_work_release(one);
    });
    group.hear_from_all("started");
    let_it_run();
    group.signal(victim, SIGKILL);
    group.expect_success(victim);
    if (HasFailure()) return;
  }
}

TEST_P(KilledRank, EndsTheBarrierThatItNeverReached) {
  for (int victim = 0; victim < GetParam().size; ++victim) {
    SCOPED_TRACE("victim " + std::to_string(victim));
    ProcessGroup group(GetParam(), [&](Child& child) {
      const Comm comm;
      ASSERT_TRUE(comm);
      child.say("created");
      if (child.index == victim) (void)child.hear();
      expect_lost(comm.get(), hocket_barrier(comm.get(), nullptr, nullptr), victim);
    });
    group.hear_from_all("created");
    let_it_run();
    group.signal(victim, SIGKILL);
    group.expect_success(victim);
    if (HasFailure()) return;
  }
}

// Survivors that are not inside any call when it happens.
TEST_P(KilledRank, IsNoticedByThoseWhoAreBusyElsewhere) {
  for (int victim = 0; victim < GetParam().size; ++victim) {
    SCOPED_TRACE("victim " + std::to_string(victim));
    ProcessGroup group(GetParam(), [&](Child& child) {
      const Comm comm;
      ASSERT_TRUE(comm);
      Call({.count = 1000}, child.index, child.size).run(comm.get());
      child.say("idle");
      EXPECT_EQ(child.hear(), "go on");
      expect_lost(comm.get(), hocket_barrier(comm.get(), nullptr, nullptr), victim);
    });
    group.hear_from_all("idle");
    group.signal(victim, SIGKILL);
    for (int index = 0; index < group.size(); ++index) group.tell(index, "go on");
    group.expect_success(victim);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, KilledRank, testing::Values(2, 3, 4, 5), testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Hosts, KilledRank, testing::Values("0011", "01200"), testing::PrintToStringParamName());

// ---- stopped

// The stopped rank comes back later, and finds out too.
void run_with_stopped_rank(const std::string& transport, int size, int victim) {
  SCOPED_TRACE(transport + ", rank " + std::to_string(victim) + " of " + std::to_string(size));
  ProcessGroup group(size, [&](Child& child) {
    ::setenv("HOCKET_TRANSPORT", transport.c_str(), 1);
    // Through one rank alone, the stopped one may find all that it waits for when it comes back, and succeed.
    if (transport == "tcp") ::setenv("HOCKET_ALGORITHM", "ring", 1);
    const Comm comm;
    ASSERT_TRUE(comm);
    Call({.count = 1000}, child.index, child.size).run(comm.get());
    child.say("warm");
    EXPECT_EQ(child.hear(), "go on");
    hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
    options.timeout_ms = child.index == victim ? 0 : 1500;
    Call call({.count = 5000}, child.index, child.size);
    expect_result(call.issue(comm.get(), nullptr, &options), HOCKET_TIMEOUT);
    const hocket_cause cause = last_cause();
    child.say(std::to_string(cause.peer));
    EXPECT_STREQ(cause.operation, "allreduce");
    EXPECT_GE(cause.elapsed_seconds, 1.4);
    faults_peer_expect_broken(comm.get(), HOCKET_TIMEOUT, cause.peer);
    (void)child.hear();  // stays until all have looked
  });
  group.hear_from_all("warm");
  group.signal(victim, SIGSTOP);
  for (int index = 0; index < size; ++index) group.tell(index, "go on");
  std::vector<std::string> named;
  for (int index = 0; index < size; ++index) {
    if (index != victim) named.push_back(group.hear(index));
  }
  group.signal(victim, SIGCONT);
  named.push_back(group.hear(victim));
  for (int index = 0; index < size; ++index) group.tell(index, "leave");
  group.expect_success();
  EXPECT_THAT(named, testing::Each(std::to_string(victim))) << "who did not come, as each rank says";
}

class StoppedRank : public testing::TestWithParam<std::string> {};

TEST_P(StoppedRank, OfTwoIsNamedByTheTimeout) {
  run_with_stopped_rank(GetParam(), 2, 1);
  run_with_stopped_rank(GetParam(), 2, 0);
}

TEST_P(StoppedRank, OfFourIsNamedByTheTimeout) {
  run_with_stopped_rank(GetParam(), 4, 2);
  run_with_stopped_rank(GetParam(), 4, 0);
}

INSTANTIATE_TEST_SUITE_P(Over, StoppedRank, testing::Values("tcp", "shm"), [](const auto& of) { return of.param; });

TEST(LateRank, IsNamedByTheBarrierThatTimedOut) {
  run_ranks(3, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
    options.timeout_ms = 300;
    if (child.index == 2) {
      // Comes when the others have given up, and is told why.
      while (hocket_comm_status(comm.get()) == HOCKET_OK) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    expect_result(hocket_barrier(comm.get(), &options, nullptr), HOCKET_TIMEOUT);
    EXPECT_EQ(last_cause().peer, 2) << hocket_last_error();
    EXPECT_STREQ(last_cause().operation, "barrier");
  });
}

// ---- left

TEST(Leaving, WithoutTheOthersIsAnErrorForThoseWhoStillNeedTheRank) {
  for (const int leaver : {0, 1}) {
    SCOPED_TRACE("rank " + std::to_string(leaver) + " leaves");
    run_ranks(3, [&](Child& child) {
      const Comm comm;
      ASSERT_TRUE(comm);
      Call({.count = 10}, child.index, child.size).run(comm.get());
      if (child.index == leaver) return;
      expect_lost(comm.get(), hocket_barrier(comm.get(), nullptr, nullptr), leaver);
    });
  }
}

TEST(Leaving, WithWorkInFlightEndsIt) {
  ProcessGroup group(2, [](Child& child) {
    hocket_work* work = nullptr;
    float value = 0;
    {
      const Comm comm;
      ASSERT_TRUE(comm);
      ASSERT_EQ(hocket_recv(&value, 1, HOCKET_FLOAT32, 1 - child.index, comm.get(), nullptr, &work), HOCKET_OK);
      child.say("receiving");
      EXPECT_EQ(child.hear(), "leave");
    }
    const hocket_result result = hocket_work_test(work);
    EXPECT_TRUE(result == HOCKET_ABORTED || result == HOCKET_PEER_LOST) << hocket_result_name(result);
    EXPECT_EQ(hocket_work_release(work), HOCKET_OK);
  });
  group.hear_from_all("receiving");
  for (const int index : {0, 1}) group.tell(index, "leave");
  group.expect_success();
}

}  // namespace
}  // namespace hocket::process_testing
