// What goes wrong while communicators have children: the ranks concerned learn of it, and no others.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/children.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/over_transports.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

using testing::HasSubstr;

class SplitFaults : public OverTransport {};

// Ranks 0, 1 and 2 form one child, 4 and 3 the other, in this order. Rank 4 dies.
TEST_P(SplitFaults, ADeathBreaksOnlyTheCommunicatorsThatHadTheRank) {
  ProcessGroup group(5, [](Child& child) {
    const Comm parent;
    ASSERT_TRUE(parent);
    const bool left = child.index < 3;
    const Comm made(split(parent, left ? 0 : 1, -child.index, Links::own, left ? "left" : "right"));
    const Comm grandchild(split(made, 0, 0));
    ASSERT_TRUE(made && grandchild);
    expect_result(barrier(grandchild), HOCKET_OK);
    child.say("ready");
    EXPECT_EQ(child.hear(), "rank 4 is dead");
    expect_result(barrier(parent), HOCKET_PEER_LOST);
    EXPECT_EQ(last_cause().peer, 4) << hocket_last_error();
    for (const Comm* comm : {&made, &grandchild}) {
      if (left) {
        for (int round = 0; round < 3; ++round) {
          Call({.count = 10'000}, 2 - child.index, 3).run(comm->get());
        }
        expect_result(hocket_comm_status(comm->get()), HOCKET_OK);
      } else {
        expect_result(barrier(*comm), HOCKET_PEER_LOST);
        EXPECT_EQ(last_cause().peer, 0) << hocket_last_error();
        EXPECT_THAT(hocket_last_error(), HasSubstr("communicator \"right"));
      }
    }
  });
  group.hear_from_all("ready");
  group.signal(4, SIGKILL);
  for (int index = 0; index < 4; ++index) group.tell(index, "rank 4 is dead");
  group.expect_success(4);
}

TEST_P(SplitFaults, ADeathDuringTheSplitIsKnownToAll) {
  ProcessGroup group(4, [](Child& child) {
    const Comm parent;
    ASSERT_TRUE(parent);
    expect_result(barrier(parent), HOCKET_OK);
    child.say("here");
    if (child.index == 2) (void)child.hear();
    hocket_comm* made = nullptr;
    expect_result(hocket_comm_split(parent.get(), child.index % 2, 0, &made, nullptr), HOCKET_PEER_LOST);
    EXPECT_EQ(last_cause().peer, 2) << hocket_last_error();
    EXPECT_EQ(made, nullptr);
  });
  group.hear_from_all("here");
  group.signal(2, SIGKILL);
  group.expect_success(2);
}

// At any moment of it, also after it has told where it can be reached, and before it is connected with anyone.
TEST_P(SplitFaults, ADeathAtAnyMomentOfTheSplitIsKnownToAllBeforeTheDeadline) {
  for (int round = 0; round < 25 && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    ProcessGroup group(4, [](Child& child) {
      hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
      options.timeout_ms = 600'000;  // longer than the test has
      const Comm parent(&options);
      ASSERT_TRUE(parent);
      expect_result(barrier(parent), HOCKET_OK);
      child.say("here");
      hocket_result result = HOCKET_OK;
      while (result == HOCKET_OK) {
        hocket_comm* made = nullptr;
        result = hocket_comm_split(parent.get(), 0, 0, &made, nullptr);
        hocket_comm_destroy(made);
      }
      expect_result(result, HOCKET_PEER_LOST);
    });
    group.hear_from_all("here");
    std::this_thread::sleep_for(std::chrono::microseconds(300 * round));
    group.signal(2, SIGKILL);
    group.expect_success(2);
  }
}

TEST_P(SplitFaults, AnAbortStaysInItsCommunicator) {
  ProcessGroup group(3, [](Child& child) {
    const Comm parent;
    ASSERT_TRUE(parent);
    const Comm made(split(parent, 0, 0, Links::own, "aborted"));
    const Comm other(split(parent, 0, 0, Links::own, "other"));
    ASSERT_TRUE(made && other);
    if (child.index == 1) {
      expect_result(hocket_comm_abort(made.get(), "enough"), HOCKET_OK);
    }
    expect_result(barrier(made), HOCKET_ABORTED);
    EXPECT_THAT(hocket_last_error(), HasSubstr("enough"));
    EXPECT_THAT(hocket_last_error(), HasSubstr("communicator \"aborted\""));
    EXPECT_THAT(hocket_last_error(), testing::Not(HasSubstr("other")));
    expect_result(barrier(other), HOCKET_OK);
    expect_result(barrier(parent), HOCKET_OK);
  });
  group.expect_success();
}

TEST_P(SplitFaults, AMismatchInAChildNamesItsRanks) {
  run_ranks(3, [](Child& child) {
    const Comm parent;
    ASSERT_TRUE(parent);
    const Comm made(split(parent, 0, -child.index));
    ASSERT_TRUE(made);
    expect_result(barrier(made), HOCKET_OK);  // a child can break before all have left the split
    std::vector<float> values(8);
    const std::size_t count = child.index == 2 ? 8 : 4;  // rank 0 of the child
    expect_result(
        hocket_allreduce(values.data(), values.data(), count, HOCKET_FLOAT32, HOCKET_SUM, made.get(), nullptr, nullptr),
        HOCKET_MISMATCH);
    EXPECT_THAT(hocket_last_error(), HasSubstr("allreduce of 8"));
    EXPECT_THAT(hocket_last_error(), HasSubstr("/split 1 color 0\""));
    expect_result(barrier(parent), HOCKET_OK);
  });
}

// An allgather of as many bytes as the split's own is not taken for one.
TEST_P(SplitFaults, ASplitThatMeetsAnotherCallIsAMismatch) {
  run_ranks(3, [](Child& child) {
    const Comm parent;
    ASSERT_TRUE(parent);
    expect_result(barrier(parent), HOCKET_OK);
    if (child.index == 1) {
      hocket_comm* made = nullptr;
      expect_result(hocket_comm_split(parent.get(), 0, 0, &made, nullptr), HOCKET_MISMATCH);
    } else {
      std::vector<std::byte> send(32), recv(96);
      expect_result(
          hocket_allgather(send.data(), recv.data(), send.size(), HOCKET_UINT8, parent.get(), nullptr, nullptr),
          HOCKET_MISMATCH);
    }
    EXPECT_THAT(hocket_last_error(), HasSubstr("split"));
    EXPECT_THAT(hocket_last_error(), HasSubstr("allgather of 32 uint8"));
  });
}

TEST_P(SplitFaults, DifferentKindsAndListsLeaveTheParentWhole) {
  run_ranks(3, [](Child& child) {
    const Comm parent;
    ASSERT_TRUE(parent);
    hocket_comm* made = nullptr;
    const hocket_result kinds = child.index == 2 ? hocket_comm_duplicate(parent.get(), &made, nullptr)
                                                 : hocket_comm_split(parent.get(), 0, 0, &made, nullptr);
    expect_result(kinds, HOCKET_MISMATCH);
    EXPECT_THAT(hocket_last_error(), HasSubstr("rank 2 called duplicate while rank 0 called split"));
    const int32_t lists[][2] = {{0, 1}, {1, 0}};
    expect_result(hocket_comm_subset(parent.get(), lists[child.index == 1 ? 1 : 0], 2, &made, nullptr),
                  HOCKET_MISMATCH);
    EXPECT_THAT(hocket_last_error(), HasSubstr("rank 1"));
    EXPECT_EQ(made, nullptr);
    const Comm good(split(parent, 0, 0));
    ASSERT_TRUE(good);
    expect_result(barrier(good), HOCKET_OK);
    expect_result(barrier(parent), HOCKET_OK);
  });
}

// Rank 1 can open nothing more. Its child fails on all its ranks, the other one and the parent work.
TEST_P(SplitFaults, ARankWithoutDescriptorsFailsItsOwnChild) {
  run_ranks(4, [](Child& child) {
    const Comm parent;
    ASSERT_TRUE(parent);
    ASSERT_TRUE(Comm(split(parent, 0, 0)));  // the parent has all the connections that a split needs
    expect_result(barrier(parent), HOCKET_OK);
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlim_t before = limit.rlim_cur;
    if (child.index == 1) {
      limit.rlim_cur = 3;
      ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    }
    hocket_comm* raw = nullptr;
    const hocket_result result = hocket_comm_split(parent.get(), child.index / 2, 0, &raw, nullptr);
    const Comm made(raw);
    if (child.index < 2) {
      expect_result(result, HOCKET_OUT_OF_RESOURCES);
      EXPECT_FALSE(made);
      if (child.index == 0) {
        EXPECT_EQ(last_cause().peer, 1) << hocket_last_error();
      }
    } else {
      expect_result(result, HOCKET_OK);
      expect_result(barrier(made), HOCKET_OK);
    }
    if (child.index == 1) {
      limit.rlim_cur = before;
      ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    }
    expect_result(barrier(parent), HOCKET_OK);
    const Comm again(split(parent, child.index / 2, 0));
    ASSERT_TRUE(again);
    expect_result(barrier(again), HOCKET_OK);
  });
}

TEST_P(SplitFaults, ARankThatDoesNotComeIsNamedAtTheDeadline) {
  run_ranks(3, [](Child& child) {
    const Comm parent;
    ASSERT_TRUE(parent);
    expect_result(barrier(parent), HOCKET_OK);
    hocket_comm* made = nullptr;
    hocket_split_options options = HOCKET_SPLIT_OPTIONS_INIT;
    options.timeout_ms = 300;
    if (child.index == 1) {
      while (hocket_comm_status(parent.get()) == HOCKET_OK) ::usleep(10'000);
    }
    expect_result(hocket_comm_split(parent.get(), 0, 0, &made, &options), HOCKET_TIMEOUT);
    EXPECT_EQ(last_cause().peer, 1) << hocket_last_error();
    EXPECT_THAT(hocket_last_error(), HasSubstr("split"));
  });
}

INSTANTIATE_TEST_SUITE_P(Transports, SplitFaults, testing::Values("auto", "tcp"));

TEST(SplitArguments, AreCheckedBeforeAnythingMoves) {
  run_ranks(2, [](Child&) {
    const Comm parent;
    ASSERT_TRUE(parent);
    hocket_comm* made = nullptr;
    const auto expect_invalid = [&](hocket_result result, const char* text) {
      expect_result(result, HOCKET_INVALID_ARGUMENT, text);
      expect_message_names(text);
      EXPECT_EQ(made, nullptr);
    };
    expect_invalid(hocket_comm_split(nullptr, 0, 0, &made, nullptr), "parent is null");
    expect_invalid(hocket_comm_split(parent.get(), 0, 0, nullptr, nullptr), "child is null");
    expect_invalid(hocket_comm_split(parent.get(), -2, 0, &made, nullptr), "color is -2");
    const int32_t twice[] = {1, 1}, beyond[] = {0, 2};
    expect_invalid(hocket_comm_subset(parent.get(), twice, 2, &made, nullptr), "rank 1 twice");
    expect_invalid(hocket_comm_subset(parent.get(), beyond, 2, &made, nullptr), "ranks[1] is 2");
    expect_invalid(hocket_comm_subset(parent.get(), twice, 3, &made, nullptr), "count is 3");
    expect_invalid(hocket_comm_subset(parent.get(), nullptr, 1, &made, nullptr), "ranks is null");
    hocket_split_options options = HOCKET_SPLIT_OPTIONS_INIT;
    options.timeout_ms = -1;
    expect_invalid(hocket_comm_duplicate(parent.get(), &made, &options), "timeout_ms is -1");
    options = HOCKET_SPLIT_OPTIONS_INIT;
    options.struct_size = 1;
    expect_invalid(hocket_comm_duplicate(parent.get(), &made, &options), "struct_size");
    expect_result(barrier(parent), HOCKET_OK);
  });
}

}  // namespace
}  // namespace hocket::process_testing
