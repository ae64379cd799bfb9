// Communicators on their parent's links whose ranks share memory: each has a window of its ranks.
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hocket/hocket.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/children.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/last_call.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/resource_limit.hpp"
#include "tests/process/support/with_comm.hpp"

namespace hocket::process_testing {
namespace {

std::string transports_of_call_on(const Comm& comm) {
  algorithm_on(comm);
  return last_call().transport;
}

// Some of the parent's ranks, in their order and in another one.
TEST(SharedWindows, ServeEveryMemberOfOneHost) {
  run_ranks_with_comm(5, [](Child& child, const Comm& parent) {
    const std::string over_memory = algorithm_on(parent);
    const Comm twin(duplicate(parent, Links::shared));
    const Comm turned(split(parent, 0, -child.index, Links::shared));
    const Comm part(split(parent, child.index < 3 ? 0 : 1, child.index == 1 ? -1 : 0, Links::shared));
    const Comm part_of_part(split(part, child.index == 0 ? HOCKET_NO_COLOR : 0, 0, Links::shared));
    for (const Comm* comm : {&twin, &turned, &part, &part_of_part}) {
      if (!*comm) continue;
      EXPECT_EQ(algorithm_on(*comm), over_memory) << size_of(*comm) << " ranks";
      use(*comm);
      use(*comm, 2, 300'000);
    }
  });
}

// Of several hosts, the ranks of each; of one host among several, all of them.
TEST(SharedWindows, ServeTheHostsOfAMember) {
  run_ranks_with_comm("0011122", [](Child& child, const Comm& parent) {
    const std::string over_hosts = algorithm_on(parent);
    const Comm turned(split(parent, 0, -child.index, Links::shared));
    EXPECT_EQ(algorithm_on(turned), over_hosts);
    use(turned);
    const int host = child.index < 2 ? 0 : child.index < 5 ? 1 : 2;
    const Comm two_hosts(split(parent, host == 0 ? 0 : 1, -child.index, Links::shared));
    const bool leads = rank_of(two_hosts) == 0 || rank_of(two_hosts) == 2;  // a host in the child
    EXPECT_EQ(transports_of_call_on(two_hosts), host != 0 && leads ? "shm+tcp" : "shm");
    use(two_hosts);
    use(two_hosts, 2, 300'000);
  });
}

// The memory stays where it is, and the next communicator of the same ranks takes it.
TEST(SharedWindows, AreUsedAgain) {
  run_ranks_with_comm(3, [](Child& child, const Comm& parent) {
    const std::string over_memory = algorithm_on(parent);
    for (int round = 0; round < 300; ++round) {
      const Comm pair(split(parent, child.index == 2 ? 1 : 0, 0, Links::shared));
      EXPECT_EQ(child.index == 2 ? over_memory : algorithm_on(pair), over_memory);
    }
    use(parent);
  });
}

// Each rank starts its calls on two pairs in another order than its neighbours, which pairs allow: they have one rank
// in common.
TEST(SharedWindows, PairsRoundARingWaitForNothingElse) {
  constexpr int size = 3;
  run_ranks_with_comm(size, [](Child& child, const Comm& parent) {
    std::vector<std::unique_ptr<Comm>> pairs;
    for (int first = 0; first < size; ++first) {
      pairs.push_back(std::make_unique<Comm>(subset(parent, {first, (first + 1) % size}, Links::shared)));
    }
    const Comm& right = *pairs[static_cast<std::size_t>(child.index)];
    const Comm& left = *pairs[static_cast<std::size_t>((child.index + size - 1) % size)];
    for (const std::size_t count : {3, 200'000}) {
      for (std::uint64_t round = 1; round <= 20; ++round) {
        Call ahead({.count = count, .salt = round}, rank_of(right), size_of(right));
        Call behind({.count = count, .salt = round}, rank_of(left), size_of(left));
        hocket_work *first = nullptr, *second = nullptr;
        expect_result(ahead.issue(right.get(), &first), HOCKET_OK);
        expect_result(behind.issue(left.get(), &second), HOCKET_OK);
        expect_result(hocket_work_wait(second, 0), HOCKET_OK);
        expect_result(hocket_work_wait(first, 0), HOCKET_OK);
        ahead.expect_correct();
        behind.expect_correct();
        hocket_work_release(first);
        hocket_work_release(second);
      }
    }
  });
}

// What was started on a communicator before goes on behind the calls that open a window, and after them.
TEST(SharedWindows, OpenWhileWorksArePending) {
  run_ranks_with_comm(3, [](Child& child, const Comm& parent) {
    const Comm pair(subset(parent, {0, 1}, Links::shared));
    constexpr std::size_t count = 4'000'000;  // more than a link holds
    std::vector<float> data(count, static_cast<float>(child.index));
    hocket_work* work = nullptr;
    if (child.index == 0) {
      expect_result(hocket_send(data.data(), count, HOCKET_FLOAT32, 1, pair.get(), nullptr, &work), HOCKET_OK);
    } else if (child.index == 1) {
      expect_result(hocket_recv(data.data(), count, HOCKET_FLOAT32, 0, pair.get(), nullptr, &work), HOCKET_OK);
    }
    const Comm turned(split(parent, 0, -child.index, Links::shared));
    use(turned);
    if (work != nullptr) expect_result(hocket_work_wait(work, 0), HOCKET_OK);
    hocket_work_release(work);
    EXPECT_EQ(data.back(), child.index == 2 ? 2.0F : 0.0F);
  });
}

// Without memory for a window, a child runs over links.
TEST(SharedWindows, AreDoneWithoutWhereMemoryRunsOut) {
  run_ranks_with_comm(3, [](Child& child, const Comm& parent) {
    const std::string over_memory = algorithm_on(parent);
    std::optional<ResourceLimit> limit;
    if (child.index == 2) limit.emplace(RLIMIT_FSIZE, 1 << 20);
    const Comm turned(split(parent, 0, -child.index, Links::shared));
    limit.reset();
    EXPECT_NE(algorithm_on(turned), over_memory);
    use(turned);
    const Comm again(split(parent, 0, -child.index, Links::shared));
    EXPECT_EQ(algorithm_on(again), over_memory);
    use(parent);
  });
}

// What ends one rank ends all members, and those who wait over a window of some ranks hear of it.
TEST(SharedWindows, ADeathBreaksThoseWhoWaitOverAnother) {
  run_ranks_with_comm(4, [](Child& child, const Comm& parent) {
    const Comm three(split(parent, child.index == 3 ? 1 : 0, -child.index, Links::shared));
    use(parent);
    if (child.index == 3) {
      ::_exit(0);
    } else if (child.index == 2) {
      float value = 0;  // for which rank 3 is needed
      expect_result(hocket_recv(&value, 1, HOCKET_FLOAT32, 3, parent.get(), nullptr, nullptr), HOCKET_PEER_LOST);
    } else {
      expect_result(barrier(three), HOCKET_PEER_LOST);
    }
    EXPECT_EQ(last_cause().peer, 3);
  });
}

}  // namespace
}  // namespace hocket::process_testing
