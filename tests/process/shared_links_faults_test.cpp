// What goes wrong in a family of communicators that share links ends the family, by name.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/children.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/over_transports.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

class SharedLinksFaults : public OverTransport {};

// Ranks 3 and 4 are in no child of ranks 0, 1 and 2; rank 4 dies.
TEST_P(SharedLinksFaults, ADeathOutsideAChildEndsTheChildByName) {
  ProcessGroup group(5, [](Child& child) {
    const Comm parent;
    const bool left = child.index < 3;
    const Comm made(split(parent, left ? 0 : HOCKET_NO_COLOR, -child.index, Links::shared, "left"));
    EXPECT_EQ(static_cast<bool>(made), left);
    if (left) {
      expect_result(barrier(made), HOCKET_OK);
    }
    child.say("ready");
    if (child.index == 4) (void)child.hear();
    const hocket_result result = left ? allreduce_until_failure(made.get(), 1000, [] {}) : barrier(parent);
    expect_result(result, HOCKET_PEER_LOST);
    EXPECT_EQ(last_cause().peer, 4) << hocket_last_error();
    expect_message_names("rank 4");
    expect_message_names("communicator \"");
    const std::string first = hocket_last_error();
    expect_result(hocket_comm_status(parent.get()), HOCKET_PEER_LOST);
    EXPECT_EQ(hocket_last_error(), first);
  });
  group.hear_from_all("ready");
  group.signal(4, SIGKILL);
  group.expect_success(4);
}

TEST_P(SharedLinksFaults, AnAbortOfAChildEndsTheFamily) {
  ProcessGroup group(5, [](Child& child) {
    const Comm parent;
    const bool odd = child.index % 2 == 1;
    const Comm made(split(parent, odd ? 1 : 0, -child.index, Links::shared, odd ? "odd" : "even"));
    const Comm sibling(duplicate(parent, Links::shared));
    expect_result(barrier(made), HOCKET_OK);
    child.say("ready");
    if (child.index == 3) {
      EXPECT_EQ(child.hear(), "all are");
      expect_result(hocket_comm_abort(made.get(), "enough"), HOCKET_OK);
    }
    expect_result(barrier(odd ? made : sibling), HOCKET_ABORTED);
    EXPECT_EQ(last_cause().rank, 3);
    expect_message_names("rank 3 aborted the communicator: enough (communicator \"odd\", ranks as in \"default\")");
    for (const Comm* comm : {&parent, &made, &sibling}) expect_result(barrier(*comm), HOCKET_ABORTED);
  });
  group.hear_from_all("ready");
  group.tell(3, "all are");
  group.expect_success();
}

// Rank 1 calls on the one twin what the others call on the other.
TEST_P(SharedLinksFaults, AMismatchNamesBothCallsAndTheirCommunicators) {
  for (const bool with_parent : {false, true}) {
    run_ranks(3, [&](Child& child) {
      const Comm parent;
      const Comm one(duplicate(parent, Links::shared, "one"));
      const Comm other(duplicate(parent, Links::shared, "other"));
      const bool astray = child.index == 1;
      const Comm& comm = !astray ? one : with_parent ? parent : other;
      std::vector<float> values(astray ? 8 : 4, 1);
      expect_result(hocket_allreduce(values.data(), values.data(), values.size(), HOCKET_FLOAT32, HOCKET_SUM,
                                     comm.get(), nullptr, nullptr),
                    HOCKET_MISMATCH);
      expect_message_names("allreduce of 8 float32, sum on communicator \"" +
                           std::string(with_parent ? "default" : "other") + "\"");
      expect_message_names("allreduce of 4 float32, sum on communicator \"one\"");
    });
  }
}

TEST_P(SharedLinksFaults, CallsThatDifferInTheirCommunicatorAloneAreFoundOut) {
  run_ranks(3, [](Child& child) {
    const Comm parent;
    const Comm one(duplicate(parent, Links::shared, "one"));
    const Comm other(duplicate(parent, Links::shared, "other"));
    expect_result(barrier(child.index == 2 ? one : other), HOCKET_MISMATCH);
    expect_message_names("barrier on communicator \"one\"");
    expect_message_names("barrier on communicator \"other\"");
  });
}

TEST_P(SharedLinksFaults, ADeadlineInAChildEndsTheFamily) {
  run_ranks(3, [](Child& child) {
    const Comm parent;
    const Comm made(split(parent, child.index == 0 ? 1 : 0, -child.index, Links::shared, "pair"));
    expect_result(barrier(made), HOCKET_OK);
    if (child.index == 2) {
      hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
      options.timeout_ms = 300;
      expect_result(hocket_barrier(made.get(), &options, nullptr), HOCKET_TIMEOUT);
    } else {
      while (hocket_comm_status(parent.get()) == HOCKET_OK) ::usleep(10'000);
    }
    expect_result(barrier(parent), HOCKET_TIMEOUT);
    EXPECT_EQ(last_cause().peer, 1) << hocket_last_error();
    expect_message_names("(communicator \"pair\", ranks as in \"default\")");
  });
}

// Rank 1 calls on a pair what the others call on all: the one over links, the other over the window. No message meets
// another, but a rank that waits says where.
TEST(SharedLinksWindow, ADeadlineTellsWhereTheMissingRankWaits) {
  run_ranks(3, [](Child& child) {
    const Comm parent;
    const Comm pair(split(parent, child.index < 2 ? 0 : 1, 0, Links::shared, "pair"));
    hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
    if (child.index == 0) options.timeout_ms = 700;
    const Comm& comm = child.index == 1 ? pair : parent;
    expect_result(hocket_barrier(comm.get(), &options, nullptr), HOCKET_TIMEOUT);
    EXPECT_EQ(last_cause().rank, 0);
    EXPECT_EQ(last_cause().peer, 1);
    expect_message_names("; rank 1 said that it waits in barrier on communicator \"pair\"");
  });
}

TEST_P(SharedLinksFaults, RanksThatWantDifferentLinksLeaveTheParentWhole) {
  run_ranks(3, [](Child& child) {
    const Comm parent;
    hocket_split_options options = HOCKET_SPLIT_OPTIONS_INIT;
    options.share_links = child.index == 2 ? 1 : 0;
    hocket_comm* made = nullptr;
    expect_result(hocket_comm_split(parent.get(), 0, 0, &made, &options), HOCKET_MISMATCH);
    expect_message_names("rank 2 called split with share_links, rank 0 without it");
    EXPECT_EQ(made, nullptr);
    options.share_links = 2;
    expect_result(hocket_comm_duplicate(parent.get(), &made, &options), HOCKET_INVALID_ARGUMENT);
    expect_message_names("options.share_links is 2");
    expect_result(barrier(parent), HOCKET_OK);
  });
}

// A child with links of its own is none of the family, whatever ends that.
TEST_P(SharedLinksFaults, AChildThatConnectedAnewOutlivesTheFamily) {
  run_ranks(3, [](Child& child) {
    const Comm parent;
    const Comm made(duplicate(parent, Links::shared));
    const Comm apart(duplicate(made, Links::own));
    expect_result(barrier(apart), HOCKET_OK);
    if (child.index == 0) {
      expect_result(hocket_comm_abort(made.get(), "enough"), HOCKET_OK);
    }
    expect_result(barrier(parent), HOCKET_ABORTED);
    use(apart);
  });
}

INSTANTIATE_TEST_SUITE_P(Transports, SharedLinksFaults, testing::Values("auto", "tcp"));

}  // namespace
}  // namespace hocket::process_testing
