// Who is waited for in an agreement, what a call that failed learns later, and what is refused.
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/process/support/agreeing.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/children.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/over_transports.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/with_comm.hpp"

namespace hocket::process_testing {
namespace {

class AgreeRules : public OverTransport {};

void expect_agreed(const Agreed& agreed, std::uint64_t flag, const std::vector<std::int32_t>& dead) {
  expect_result(agreed.result, HOCKET_OK);
  EXPECT_EQ(agreed.flag, flag);
  EXPECT_EQ(agreed.dead, dead);
}

TEST_P(AgreeRules, AWholeCommunicatorStaysWholeAndAgreesAsOftenAsItLikes) {
  run_ranks_with_comm(3, [](Child& child, const Comm& comm) {
    for (std::uint64_t round = 0; round < 20; ++round) {
      expect_agreed(agree(comm.get(), flag_of(child.index) ^ (round << 8)), ~std::uint64_t{7} ^ (round << 8), {});
      expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);
    }
  });
}

// What a rank has been told holds for all, although it ends at once.
TEST_P(AgreeRules, ARankMayEndAsSoonAsItHasBeenTold) {
  for (int first = 0; first < 3; ++first) {
    run_when_all_have_met(3, [&](Child& child, const Comm& comm) {
      expect_agreed(agree(comm.get(), flag_of(child.index)), ~std::uint64_t{7}, {});
      if (child.index == first) ::_exit(testing::Test::HasFailure() ? 1 : 0);
      expect_agreed(agree(comm.get(), flag_of(child.index)), ~(std::uint64_t{7} & flag_of(first)), {first});
    });
  }
}

// All wait for a rank that is stopped before it votes. Then the leader dies, and the stopped one goes on.
TEST_P(AgreeRules, TheLeaderDiesWhileAllWaitForAStoppedRank) {
  ProcessGroup group(4, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    expect_agreed(agree(comm.get(), ~std::uint64_t{0}), ~std::uint64_t{0}, {});
    child.say("here");
    EXPECT_EQ(child.hear(), "go on");
    expect_agreed(agree(comm.get(), flag_of(child.index)), ~std::uint64_t{0b1110}, {0});
  });
  group.hear_from_all("here");
  group.signal(2, SIGSTOP);
  for (int rank = 0; rank < group.size(); ++rank) group.tell(rank, "go on");
  EXPECT_TRUE(falls_asleep(group.process(3)));
  group.signal(0, SIGKILL);
  group.signal(2, SIGCONT);
  group.expect_success(0);
}

// Every rank names the stopped one, also those that wait for the leader alone. When it goes on, it and all that call
// again agree.
TEST_P(AgreeRules, AStoppedRankIsNamedAndTakesPartWhenItGoesOn) {
  for (const int stopped : {0, 2}) {
    ProcessGroup group(4, [&](Child& child) {
      const Comm comm;
      ASSERT_TRUE(comm);
      child.say("here");
      EXPECT_EQ(child.hear(), "go on");
      if (child.index != stopped) {
        const Agreed late = agree(comm.get(), flag_of(child.index), 2'000);
        EXPECT_EQ(late.result, HOCKET_TIMEOUT);
        EXPECT_EQ(last_cause().peer, stopped) << last_cause().message;
        EXPECT_EQ(late.flag, flag_of(child.index));
        child.say("late");
        EXPECT_EQ(child.hear(), "again");
      }
      expect_agreed(agree(comm.get(), flag_of(child.index)), ~std::uint64_t{0b1111}, {});
      expect_agreed(agree(comm.get(), ~std::uint64_t{0}), ~std::uint64_t{0}, {});
      expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);
    });
    group.hear_from_all("here");
    group.signal(stopped, SIGSTOP);
    for (int rank = 0; rank < group.size(); ++rank) group.tell(rank, "go on");
    for (int rank = 0; rank < group.size(); ++rank) {
      if (rank != stopped) {
        EXPECT_EQ(group.hear(rank), "late");
      }
    }
    group.signal(stopped, SIGCONT);
    for (int rank = 0; rank < group.size(); ++rank) group.tell(rank, "again");
    group.expect_success();
  }
}

TEST_P(AgreeRules, WhoeverShrinksInsteadIsNamedAndTheOthersCanFollow) {
  for (const int shrinking : {0, 2}) {
    ProcessGroup group(3, [&](Child& child) {
      const Comm comm;
      ASSERT_TRUE(comm);
      child.say("here");
      child.hear();
      if (child.index != shrinking) {
        expect_result(agree(comm.get(), 1).result, HOCKET_MISMATCH);
        expect_message_names("rank " + std::to_string(shrinking) + " of \"default\" is in hocket_comm_shrink");
        EXPECT_EQ(last_cause().peer, shrinking);
        child.say("told");  // before the other one follows, who would be named then
        child.hear();
      }
      hocket_comm* handle = nullptr;
      expect_result(hocket_comm_shrink(comm.get(), &handle, nullptr), HOCKET_OK);
      const Comm shrunk(handle);
      ASSERT_TRUE(shrunk);
      expect_agreed(agree(handle, flag_of(child.index)), ~std::uint64_t{7}, {});
      expect_result(hocket_barrier(handle, nullptr, nullptr), HOCKET_OK);
    });
    group.hear_from_all("here");
    for (int rank = 0; rank < group.size(); ++rank) group.tell(rank, "begin");
    for (int rank = 0; rank < group.size(); ++rank) {
      if (rank != shrinking) {
        EXPECT_EQ(group.hear(rank), "told");
      }
    }
    for (int rank = 0; rank < group.size(); ++rank) {
      if (rank != shrinking) group.tell(rank, "follow");
    }
    group.expect_success();
  }
}

INSTANTIATE_TEST_SUITE_P(Over, AgreeRules, testing::Values("auto", "tcp"),
                         [](const testing::TestParamInfo<std::string>& of) { return of.param; });

TEST(Agree, InTheBackgroundAndOnItsOwnThread) {
  run_ranks_with_comm(3, [](Child& child, const Comm& comm) {
    if (child.index == 2) {
      expect_agreed(agree(comm.get(), flag_of(2)), ~std::uint64_t{7}, {});
      expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);
      return;
    }
    hocket_agreement* agreement = nullptr;
    expect_result(hocket_comm_agree_start(comm.get(), flag_of(child.index), &agreement, nullptr), HOCKET_OK);
    for (int time = 0; time < 2; ++time) {
      std::uint64_t flag = 0;
      std::int32_t dead[3] = {}, count = -1;
      expect_result(hocket_agreement_wait(agreement, 0, &flag, dead, &count), HOCKET_OK);
      EXPECT_EQ(flag, ~std::uint64_t{7});
      EXPECT_EQ(count, 0);
    }
    EXPECT_EQ(hocket_agreement_test(agreement), HOCKET_OK);
    expect_result(hocket_agreement_destroy(agreement), HOCKET_OK);
    expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);
  });
}

// The other rank stays away until this one has given up, then both agree.
TEST(Agree, GivenUpInTheBackgroundItEndsAndAnotherCallTakesItsPlace) {
  ProcessGroup group(2, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    if (child.index == 0) {
      hocket_agreement* agreement = nullptr;
      expect_result(hocket_comm_agree_start(comm.get(), 1, &agreement, nullptr), HOCKET_OK);
      EXPECT_EQ(hocket_agreement_test(agreement), HOCKET_IN_PROGRESS);
      expect_result(hocket_agreement_destroy(agreement), HOCKET_OK);
    }
    child.say("here");
    EXPECT_EQ(child.hear(), "go on");
    expect_agreed(agree(comm.get(), 3), 3, {});
    expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);
  });
  group.hear_from_all("here");
  for (int rank = 0; rank < group.size(); ++rank) group.tell(rank, "go on");
  group.expect_success();
}

TEST(Agree, OneCallAtATime) {
  run_when_all_have_met(2, [](Child& child, const Comm& comm) {
    if (child.index == 0) {
      hocket_agreement* agreement = nullptr;
      expect_result(hocket_comm_agree_start(comm.get(), 1, &agreement, nullptr), HOCKET_OK);
      // Whichever of the two comes second is refused; the other one waits for rank 1.
      const Agreed other = agree(comm.get(), 1, 500);
      const bool first = other.result == HOCKET_TIMEOUT;
      if (!first) expect_result(other.result, HOCKET_INVALID_ARGUMENT);
      if (first) {
        EXPECT_EQ(hocket_agreement_test(agreement), HOCKET_INVALID_ARGUMENT);
      }
      expect_result(hocket_agreement_destroy(agreement), HOCKET_OK);
    }
    expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);
    expect_agreed(agree(comm.get(), 1), 1, {});
    expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);
  });
}

TEST(Agree, RefusesWhatItCannotDo) {
  run_ranks_with_comm(2, [](Child&, const Comm& comm) {
    std::uint64_t flag = 5;
    std::int32_t dead[2] = {}, count = 7;
    expect_result(hocket_comm_agree(nullptr, &flag, dead, &count, nullptr), HOCKET_INVALID_ARGUMENT);
    expect_result(hocket_comm_agree(comm.get(), nullptr, dead, &count, nullptr), HOCKET_INVALID_ARGUMENT);
    expect_result(hocket_comm_agree(comm.get(), &flag, dead, nullptr, nullptr), HOCKET_INVALID_ARGUMENT);
    hocket_agree_options options = HOCKET_AGREE_OPTIONS_INIT;
    options.timeout_ms = -1;
    expect_result(hocket_comm_agree(comm.get(), &flag, dead, &count, &options), HOCKET_INVALID_ARGUMENT);
    options.struct_size = 1;
    expect_result(hocket_comm_agree(comm.get(), &flag, dead, &count, &options), HOCKET_INVALID_ARGUMENT);
    hocket_agreement* agreement = nullptr;
    expect_result(hocket_comm_agree_start(comm.get(), flag, nullptr, nullptr), HOCKET_INVALID_ARGUMENT);
    expect_result(hocket_comm_agree_start(nullptr, flag, &agreement, nullptr), HOCKET_INVALID_ARGUMENT);
    expect_result(hocket_comm_agree_start(comm.get(), flag, &agreement, &options), HOCKET_INVALID_ARGUMENT);
    expect_result(hocket_agreement_test(nullptr), HOCKET_INVALID_ARGUMENT);
    expect_result(hocket_agreement_wait(nullptr, 0, &flag, dead, &count), HOCKET_INVALID_ARGUMENT);
    expect_result(hocket_agreement_destroy(nullptr), HOCKET_OK);
    const Comm shared(duplicate(comm, Links::shared));
    hocket_comm* const child = shared.get();
    expect_result(hocket_comm_agree(child, &flag, dead, &count, nullptr), HOCKET_UNSUPPORTED);
    expect_message_names("cannot agree");
    EXPECT_EQ(flag, 5U);
    EXPECT_EQ(count, 7);
    expect_result(hocket_comm_agree(comm.get(), &flag, nullptr, nullptr, nullptr), HOCKET_OK);
    expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);
  });
}

}  // namespace
}  // namespace hocket::process_testing
