// What a communicator counts of each of its ranks: messages, bytes and waits.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

hocket_peer_counters counted(const Comm& comm, int rank) {
  hocket_peer_counters counters = HOCKET_PEER_COUNTERS_INIT;
  expect_result(hocket_comm_peer_counters(comm.get(), rank, &counters), HOCKET_OK);
  return counters;
}

hocket_counters counted(const Comm& comm) {
  hocket_counters counters = HOCKET_COUNTERS_INIT;
  expect_result(hocket_comm_counters(comm.get(), &counters), HOCKET_OK);
  return counters;
}

class PeerCounters : public ::testing::TestWithParam<std::string> {
 protected:
  static void run(int size, const std::function<void(Child&, const Comm&)>& body) {
    run_ranks(size, [&](Child& child) {
      hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
      options.transport = GetParam().c_str();
      const Comm comm(&options);
      ASSERT_TRUE(comm);
      body(child, comm);
    });
  }
};

TEST_P(PeerCounters, MessagesAndBytesOfEachPeer) {
  run(3, [](Child& child, const Comm& comm) {
    std::vector<int> values(100);
    std::vector<hocket_peer_counters> before;  // its creation exchanged something
    for (int peer = 0; peer < 3; ++peer) before.push_back(counted(comm, peer));
    if (child.index == 0) {
      for (int peer : {1, 2, 2}) {
        expect_result(hocket_send(values.data(), 100, HOCKET_INT32, peer, comm.get(), nullptr, nullptr), HOCKET_OK);
      }
    }
    for (int message = 0; message < child.index; ++message) {
      expect_result(hocket_recv(values.data(), 100, HOCKET_INT32, 0, comm.get(), nullptr, nullptr), HOCKET_OK);
    }
    for (int peer = 0; peer < 3; ++peer) {
      const hocket_peer_counters &found = counted(comm, peer), &then = before[static_cast<std::size_t>(peer)];
      const auto sent = static_cast<std::uint64_t>(child.index == 0 ? peer : 0);
      const auto received = static_cast<std::uint64_t>(peer == 0 ? child.index : 0);
      EXPECT_EQ(found.messages_sent - then.messages_sent, sent) << peer;
      EXPECT_EQ(found.bytes_sent - then.bytes_sent, 400 * sent) << peer;
      EXPECT_EQ(found.messages_received - then.messages_received, received) << peer;
      EXPECT_EQ(found.bytes_received - then.bytes_received, 400 * received) << peer;
    }
  });
}

// Over links all that a rank sent went to some peer; over shared memory each output takes all of every input.
TEST_P(PeerCounters, BytesOfCollectives) {
  for (const std::size_t count : {std::size_t{10}, std::size_t{1'000'000}}) {
    run(3, [count](Child& child, const Comm& comm) {
      std::vector<int> values(count, 1);
      const auto before = counted(comm);
      std::vector<hocket_peer_counters> each_before;
      for (int peer = 0; peer < 3; ++peer) each_before.push_back(counted(comm, peer));
      expect_result(
          hocket_allreduce(values.data(), values.data(), count, HOCKET_INT32, HOCKET_SUM, comm.get(), nullptr, nullptr),
          HOCKET_OK);
      std::uint64_t sent = 0, received = 0, messages = 0;
      for (int peer = 0; peer < 3; ++peer) {
        const hocket_peer_counters &now = counted(comm, peer), &then = each_before[static_cast<std::size_t>(peer)];
        sent += now.bytes_sent - then.bytes_sent;
        received += now.bytes_received - then.bytes_received;
        messages += now.messages_sent - then.messages_sent;
        if (peer == child.index) {
          EXPECT_EQ(now.bytes_sent + now.bytes_received + now.waits, 0U);
        } else if (GetParam() == "auto") {
          EXPECT_EQ(now.bytes_received - then.bytes_received, 4 * count) << peer;
        }
      }
      const auto after = counted(comm);
      EXPECT_EQ(messages, after.messages_sent - before.messages_sent);
      if (GetParam() == "auto") {
        EXPECT_EQ(sent, 8 * count);
      } else {
        EXPECT_EQ(sent, after.bytes_sent - before.bytes_sent);
        EXPECT_EQ(received, after.bytes_received - before.bytes_received);
      }
    });
  }
}

// Over shared memory each rank gives its input to those after it.
TEST(PeerCountersOfPrefixes, CountTheRanksBeforeAndAfter) {
  run_ranks(3, [](Child& child) {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.transport = "auto";
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    std::vector<hocket_peer_counters> before;
    for (int peer = 0; peer < 3; ++peer) before.push_back(counted(comm, peer));
    std::vector<int> values(10, 1);
    for (int i = 0; i < 2; ++i) {
      expect_result(
          hocket_scan(values.data(), values.data(), 10, HOCKET_INT32, HOCKET_SUM, comm.get(), nullptr, nullptr),
          HOCKET_OK);
    }
    for (int peer = 0; peer < 3; ++peer) {
      const hocket_peer_counters &now = counted(comm, peer), &then = before[static_cast<std::size_t>(peer)];
      EXPECT_EQ(now.bytes_sent - then.bytes_sent, peer > child.index ? 80U : 0U) << peer;
      EXPECT_EQ(now.bytes_received - then.bytes_received, peer < child.index ? 80U : 0U) << peer;
    }
  });
}

// Rank 1 comes once rank 0 sleeps.
TEST_P(PeerCounters, TellsForWhomARankWaited) {
  ProcessGroup group(2, [](Child& child) {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.transport = GetParam().c_str();
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    const hocket_peer_counters before = counted(comm, 1 - child.index);
    if (child.index == 1) {
      (void)child.hear();
    } else {
      child.say("comes");
    }
    int value = 1;
    expect_result(hocket_allreduce(&value, &value, 1, HOCKET_INT32, HOCKET_SUM, comm.get(), nullptr, nullptr),
                  HOCKET_OK);
    const hocket_peer_counters after = counted(comm, 1 - child.index);
    if (child.index == 0) {
      EXPECT_GE(after.waits, before.waits + 1);
      EXPECT_GT(after.waited_ns, before.waited_ns + 100'000);  // falling asleep alone takes longer
      EXPECT_LT(after.waited_ns, 90'000'000'000U);
    }
    EXPECT_EQ(counted(comm, child.index).waits, 0U);
  });
  EXPECT_EQ(group.hear(0), "comes");
  EXPECT_TRUE(falls_asleep(group.process(0)));
  group.tell(1, "go on");
  group.expect_success();
}

// Each communicator counts its own calls, by its own ranks.
TEST_P(PeerCounters, OfAChildThatSharesLinks) {
  run(3, [](Child& child, const Comm& parent) {
    hocket_split_options options = HOCKET_SPLIT_OPTIONS_INIT;
    options.share_links = 1;
    hocket_comm* made = nullptr;
    expect_result(hocket_comm_split(parent.get(), child.index == 1 ? HOCKET_NO_COLOR : 0, child.index, &made, &options),
                  HOCKET_OK);
    const Comm comm(made);
    if (!comm) return;
    std::vector<int> values(100);
    const auto before = counted(parent, 2 - child.index);
    if (child.index == 0) {
      expect_result(hocket_send(values.data(), 100, HOCKET_INT32, 1, made, nullptr, nullptr), HOCKET_OK);
      EXPECT_EQ(counted(comm, 1).bytes_sent, 400U);
    } else {
      expect_result(hocket_recv(values.data(), 100, HOCKET_INT32, 0, made, nullptr, nullptr), HOCKET_OK);
      EXPECT_EQ(counted(comm, 0).bytes_received, 400U);
    }
    EXPECT_EQ(counted(parent, 2 - child.index).bytes_sent, before.bytes_sent);
  });
}

TEST(PeerCountersOfNobody, AreRefused) {
  run_ranks(1, [](Child&) {
    const Comm comm;
    hocket_peer_counters counters = HOCKET_PEER_COUNTERS_INIT;
    for (const int rank : {-1, 1}) {
      expect_result(hocket_comm_peer_counters(comm.get(), rank, &counters), HOCKET_INVALID_ARGUMENT);
      expect_message_names("rank is " + std::to_string(rank) + "; the communicator's are 0 to 0");
    }
    expect_result(hocket_comm_peer_counters(nullptr, 0, &counters), HOCKET_INVALID_ARGUMENT);
    expect_result(hocket_comm_peer_counters(comm.get(), 0, nullptr), HOCKET_INVALID_ARGUMENT);
    expect_result(hocket_comm_peer_counters(comm.get(), 0, &counters), HOCKET_OK);
    counters.struct_size = 1;
    expect_result(hocket_comm_peer_counters(comm.get(), 0, &counters), HOCKET_INVALID_ARGUMENT);
    expect_message_names("HOCKET_PEER_COUNTERS_INIT");
  });
}

INSTANTIATE_TEST_SUITE_P(Over, PeerCounters, ::testing::Values("tcp", "auto"),
                         [](const auto& information) { return information.param; });

}  // namespace
}  // namespace hocket::process_testing
