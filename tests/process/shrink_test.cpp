// Ranks die, stop or stay away, and the others go on in a communicator of their own.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/over_transports.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/with_comm.hpp"

namespace hocket::process_testing {
namespace {

// Which ranks take part in a communicator's calls, by their numbers in the first one, and whether all of them have been
// told to end.
struct Members {
  std::int32_t bits = 0;
  bool all_end = false;
};

hocket_result ask_members(hocket_comm* comm, int self, bool ends, Members& members) {
  std::int32_t values[] = {1 << self, ends ? 1 : 0};
  const hocket_result result = hocket_allreduce(values, values, 2, HOCKET_INT32, HOCKET_SUM, comm, nullptr, nullptr);
  members = {values[0], values[1] == std::popcount(static_cast<std::uint32_t>(values[0]))};
  return result;
}

// Calls until all ranks that are left have been told to end, and shrinks whenever the communicator breaks. Returns who
// is left; nobody: shrinking failed.
std::int32_t shrink_survive(Child& child, hocket_comm* comm, const hocket_shrink_options* options = nullptr) {
  std::vector<std::unique_ptr<Comm>> made;
  for (bool ends = false;;) {
    ends = ends || child.parent.has_news();
    Members members;
    const hocket_result result = ask_members(comm, child.index, ends, members);
    if (result == HOCKET_OK && members.all_end) return members.bits;
    if (result == HOCKET_OK) continue;
    EXPECT_NE(result, HOCKET_ABORTED) << "rank " << child.index << ": " << hocket_last_error();  // nobody has aborted
    hocket_comm* shrunk = nullptr;
    if (hocket_comm_shrink(comm, &shrunk, options) != HOCKET_OK) {
      ADD_FAILURE() << "rank " << child.index << " cannot shrink: " << hocket_last_error();
      return 0;
    }
    comm = shrunk;
    made.push_back(std::make_unique<Comm>(shrunk));
  }
}

int without(int size, const std::vector<int>& dead) {
  int members = (1 << size) - 1;
  for (const int rank : dead) members &= ~(1 << rank);
  return members;
}

class Shrinking : public OverTransports {
 protected:
  // Kills these ranks in the middle of allreduces, each so long after the one before, and expects all others to go on.
  void kill(const std::vector<int>& victims, const std::function<void()>& pause) const {
    const int size = ranks().size;
    ProcessGroup group(ranks(), [&](Child& child) {
      const Comm comm;
      ASSERT_TRUE(comm);
      Members members;
      for (int round = 0; round < 3; ++round) {
        ASSERT_EQ(ask_members(comm.get(), child.index, false, members), HOCKET_OK);
      }
      child.say("looping");
      child.say(std::to_string(shrink_survive(child, comm.get())));
      while (child.hear() != "leave") continue;  // not before all have been asked
    });
    group.hear_from_all("looping");
    for (const int victim : victims) {
      group.signal(victim, SIGKILL);
      pause();
    }
    for (int rank = 0; rank < size; ++rank) group.tell(rank, "end");
    for (int rank = 0; rank < size; ++rank) {
      if (std::ranges::find(victims, rank) != victims.end()) continue;
      EXPECT_EQ(group.hear(rank), std::to_string(without(size, victims))) << "rank " << rank;
    }
    for (int rank = 0; rank < size; ++rank) group.tell(rank, "leave");
    for (const auto& [rank, outcome] : number(group.wait())) {
      const bool victim = std::ranges::find(victims, rank) != victims.end();
      EXPECT_EQ(outcome.signal, victim ? SIGKILL : 0) << "rank " << rank;
      EXPECT_EQ(outcome.status, victim ? -1 : 0) << "rank " << rank;
    }
  }

 private:
  static std::vector<std::pair<int, Outcome>> number(const std::vector<Outcome>& outcomes) {
    std::vector<std::pair<int, Outcome>> numbered;
    for (const Outcome& outcome : outcomes) numbered.emplace_back(static_cast<int>(numbered.size()), outcome);
    return numbered;
  }
};

TEST_P(Shrinking, GoesOnWithoutAnyOneRank) {
  for (int victim = 0; victim < ranks().size; ++victim) {
    SCOPED_TRACE("victim " + std::to_string(victim));
    kill({victim}, [] {});
    if (HasFailure()) return;
  }
}

TEST_P(Shrinking, GoesOnWithoutSeveralThatDieAtOnce) {
  kill({0, 1}, [] {});
  kill({0, ranks().size - 1}, [] {});
  std::vector<int> all_but_one;
  for (int rank = 0; rank + 1 < ranks().size; ++rank) all_but_one.push_back(rank);
  kill(all_but_one, [] {});
}

// The next one dies while the others agree on the first.
TEST_P(Shrinking, GoesOnWhoeverDiesMeanwhile) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random{seed};
  std::uniform_int_distribution<> delay(0, 30'000);
  for (int round = 0; round < 5; ++round) {
    std::vector<int> order(static_cast<std::size_t>(ranks().size));
    for (int rank = 0; rank < ranks().size; ++rank) order[static_cast<std::size_t>(rank)] = rank;
    std::ranges::shuffle(order, random);
    order.resize(2);
    SCOPED_TRACE("victims " + testing::PrintToString(order));
    kill(order, [&] { std::this_thread::sleep_for(std::chrono::microseconds(delay(random))); });
    if (HasFailure()) return;
  }
}

std::string name_of_shrink_case(const testing::TestParamInfo<std::tuple<Ranks, std::string>>& of) {
  return std::get<1>(of.param) + "_" + testing::PrintToString(std::get<0>(of.param));
}
INSTANTIATE_TEST_SUITE_P(Over, Shrinking,
                         testing::Combine(testing::Values(Ranks(3), Ranks(4), Ranks(7)),
                                          testing::Values("auto", "tcp")),
                         name_of_shrink_case);
INSTANTIATE_TEST_SUITE_P(OverHosts, Shrinking,
                         testing::Combine(testing::Values(Ranks("0011"), Ranks("00112")), testing::Values("auto")),
                         name_of_shrink_case);

TEST(Shrink, KeepsTheOrderOfRanksAndKnowsThePreviousOnes) {
  run_when_all_have_met(4, [](Child& child, const Comm& comm) {
    if (child.index == 1) {
      child.parent.say("dying");
      ::_exit(0);
    }
    EXPECT_EQ(allreduce_until_failure(comm.get(), 1000, [] {}), HOCKET_PEER_LOST);
    hocket_comm* handle = nullptr;
    expect_result(hocket_comm_shrink(comm.get(), &handle, nullptr), HOCKET_OK);
    const Comm shrunk(handle);
    std::int32_t rank = -1, size = -1;
    EXPECT_EQ(hocket_comm_rank(handle, &rank), HOCKET_OK);
    EXPECT_EQ(hocket_comm_size(handle, &size), HOCKET_OK);
    EXPECT_EQ(size, 3);
    EXPECT_EQ(rank, child.index == 0 ? 0 : child.index - 1);
    for (const auto& [now, before] : {std::pair{0, 0}, {1, 2}, {2, 3}}) {
      std::int32_t previous = -1;
      EXPECT_EQ(hocket_comm_previous_rank(handle, now, &previous), HOCKET_OK);
      EXPECT_EQ(previous, before);
    }
    std::int32_t previous = -1;
    expect_result(hocket_comm_previous_rank(handle, 3, &previous), HOCKET_INVALID_ARGUMENT);
    expect_result(hocket_comm_previous_rank(comm.get(), 0, &previous), HOCKET_INVALID_ARGUMENT);
    EXPECT_EQ(hocket_barrier(handle, nullptr, nullptr), HOCKET_OK);
  });
}

}  // namespace
}  // namespace hocket::process_testing
