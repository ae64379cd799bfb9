// How windows of children on shared links open: beside what else is under way, and for all members or none.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "hocket/hocket.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/children.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/resource_limit.hpp"
#include "tests/process/support/with_comm.hpp"

namespace hocket::process_testing {
namespace {

hocket_comm* turned_round(const Comm& comm) {
  return split(comm, 0, -rank_of(comm), Links::shared);
}

// Each rank opens two at once, and no two ranks need begin with the same one.
TEST(WindowOpenings, OfRowsAndColumnsGoOnAtTheSameTime) {
  run_ranks_with_comm(4, [](Child& child, const Comm& parent) {
    for (int round = 0; round < 5; ++round) {
      const Comm family(duplicate(parent, Links::own));
      const Comm row(split(family, child.index / 2, 0, Links::shared));
      const Comm column(split(family, child.index % 2, 0, Links::shared));
      const auto turn = [](const Comm& comm) {
        const Comm turned(turned_round(comm));
        EXPECT_EQ(rank_of(turned), 1 - rank_of(comm));
        use(turned);
      };
      std::thread other([&] { turn(column); });
      turn(row);
      other.join();
    }
  });
}

// Rank 1 receives what rank 2 sends when rank 0, which needs rank 1 for a split, has gone on.
TEST(WindowOpenings, GoOnWhileAnotherThreadWaits) {
  run_ranks_with_comm(3, [](Child& child, const Comm& parent) {
    const Comm first(subset(parent, {0, 1}, Links::shared)), last(subset(parent, {1, 2}, Links::shared));
    const Comm outer(subset(parent, {0, 2}, Links::shared));
    float value = 0;
    std::thread receiver;
    if (child.index == 1) {
      std::promise<void> begins;
      receiver = std::thread([&] {
        begins.set_value();
        expect_result(hocket_recv(&value, 1, HOCKET_FLOAT32, 1, last.get(), nullptr, nullptr), HOCKET_OK);
      });
      begins.get_future().wait();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // so that mostly it waits by now
    }
    if (child.index < 2) {
      const Comm turned(turned_round(first));
      use(turned);
    }
    if (child.index == 0) {
      value = 7;
      expect_result(hocket_send(&value, 1, HOCKET_FLOAT32, 1, outer.get(), nullptr, nullptr), HOCKET_OK);
    } else if (child.index == 2) {
      expect_result(hocket_recv(&value, 1, HOCKET_FLOAT32, 0, outer.get(), nullptr, nullptr), HOCKET_OK);
      expect_result(hocket_send(&value, 1, HOCKET_FLOAT32, 0, last.get(), nullptr, nullptr), HOCKET_OK);
    }
    if (receiver.joinable()) receiver.join();
    EXPECT_EQ(value, 7.0F);
  });
}

// One rank's host has no memory for a window. The others have theirs, and may not use them.
TEST(WindowOpenings, OfSeveralHostsAreForAllOrForNone) {
  run_ranks_with_comm("001122", [](Child& child, const Comm& parent) {
    const std::string over_hosts = algorithm_on(parent);
    {
      std::optional<ResourceLimit> limit;
      if (child.index == 1) limit.emplace(RLIMIT_FSIZE, 1 << 20);  // it makes the memory, as it is the first there
      const Comm without(turned_round(parent));
      limit.reset();
      EXPECT_NE(algorithm_on(without), over_hosts);
      use(without);
      use(without, 2, 300'000);
    }
    const Comm turned(turned_round(parent));
    EXPECT_EQ(algorithm_on(turned), over_hosts);
    use(turned);
    use(parent);
  });
}

// The memory of a window comes as a descriptor.
TEST(WindowOpenings, DoWithoutWhereDescriptorsRunOut) {
  run_ranks_with_comm(3, [](Child& child, const Comm& parent) {
    const std::string over_memory = algorithm_on(parent);
    use(parent);
    for (const int poor : {2, 0}) {  // the one that makes the memory, and one that is handed it
      const int lowest_free = ::dup(STDERR_FILENO);
      ::close(lowest_free);
      std::optional<ResourceLimit> limit;
      if (child.index == poor) limit.emplace(RLIMIT_NOFILE, static_cast<rlim_t>(lowest_free));
      const Comm turned(turned_round(parent));
      limit.reset();
      EXPECT_NE(algorithm_on(turned), over_memory);
      use(turned);
    }
    const Comm turned(turned_round(parent));
    EXPECT_EQ(algorithm_on(turned), over_memory);
    use(parent);
  });
}

// Of ever other lists of ranks there are ever more windows, but not without end.
TEST(WindowOpenings, AreBounded) {
  static constexpr int size = 5, lists = 70, at_most = 64;
  run_ranks_with_comm(size, [](Child&, const Comm& parent) {
    const std::string over_memory = algorithm_on(parent);
    std::vector<int32_t> order(size);
    std::iota(order.begin(), order.end(), 0);
    int over_windows = 0;
    for (int list = 0; list < lists; ++list) {
      const Comm child(subset(parent, order, Links::shared));
      if (algorithm_on(child) == over_memory) ++over_windows;
      if (list == lists - 1) use(child);
      std::ranges::next_permutation(order);
    }
    EXPECT_EQ(over_windows, at_most);
    EXPECT_EQ(algorithm_on(parent), over_memory);
  });
}

// Rank 0 has a large block for rank 1, so its call uses links, too, and the others' do not; and all wait for rank 3 so
// long that they tell each other in which call.
TEST(WindowOpenings, LeaveWhoWaitsInTwoWaysInOneCall) {
  constexpr int size = 4;
  run_ranks_with_comm(size, [](Child& child, const Comm& parent) {
    const Comm turned(turned_round(parent));
    use(turned);
    constexpr std::size_t small = 2, large = 6'000;
    const auto count = [](int from, int to) { return from == 0 && to == 1 ? large : small; };
    std::vector<std::size_t> send_counts, send_at, recv_counts, recv_at;
    std::size_t sent = 0, received = 0;
    for (int other = 0; other < size; ++other) {
      send_counts.push_back(count(child.index, other));
      send_at.push_back(sent);
      recv_counts.push_back(count(other, child.index));
      recv_at.push_back(received);
      sent += send_counts.back();
      received += recv_counts.back();
    }
    const std::vector<float> input(sent, static_cast<float>(child.index));
    std::vector<float> output(received, -1);
    if (child.index == 3) std::this_thread::sleep_for(std::chrono::milliseconds(700));
    expect_result(hocket_alltoall_v(input.data(), send_counts.data(), send_at.data(), output.data(), recv_counts.data(),
                                    recv_at.data(), HOCKET_FLOAT32, parent.get(), nullptr, nullptr),
                  HOCKET_OK);
    for (int other = 0; other < size; ++other) {
      const auto from = output.begin() + static_cast<std::ptrdiff_t>(recv_at[static_cast<std::size_t>(other)]);
      const auto length = static_cast<std::ptrdiff_t>(recv_counts[static_cast<std::size_t>(other)]);
      EXPECT_EQ(std::count(from, from + length, static_cast<float>(other)), length);
    }
  });
}

}  // namespace
}  // namespace hocket::process_testing
