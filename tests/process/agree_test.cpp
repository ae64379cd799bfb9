// Ranks agree on a flag and on who is dead, whoever dies meanwhile; then those that are left shrink.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
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

#include "tests/process/support/agreeing.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/over_transports.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/with_comm.hpp"

namespace hocket::process_testing {
namespace {

constexpr std::uint64_t goes_on = std::uint64_t{1} << 63;

// Agrees until all that are left have been told to end, and then once more.
void agree_until_told(Child& child, hocket_comm* comm, ToldRanks& told) {
  for (bool last = false, next_is_last = false; !last;) {
    last = next_is_last;
    const std::uint64_t flag = flag_of(child.index) & (child.parent.has_news() ? ~goes_on : ~std::uint64_t{0});
    const Agreed agreed = agree(comm, flag);
    ASSERT_EQ(agreed.result, HOCKET_OK) << "rank " << child.index << ": " << hocket_last_error();
    ASSERT_TRUE(told.add(child.index, told_by(agreed)));
    next_is_last = (agreed.flag & goes_on) == 0;
  }
}

// The sum of 1 << rank over the ranks of the communicator that the survivors shrink to.
int shrink_and_sum(hocket_comm* comm, int rank) {
  hocket_comm* handle = nullptr;
  expect_result(hocket_comm_shrink(comm, &handle, nullptr), HOCKET_OK);
  const Comm shrunk(handle);
  if (!shrunk) return 0;
  std::int32_t sum = 1 << rank;
  expect_result(hocket_allreduce(&sum, &sum, 1, HOCKET_INT32, HOCKET_SUM, handle, nullptr, nullptr), HOCKET_OK);
  const Agreed agreed = agree(handle, flag_of(rank));
  EXPECT_EQ(agreed.result, HOCKET_OK) << hocket_last_error();
  EXPECT_EQ(agreed.dead, std::vector<std::int32_t>{});
  expect_result(hocket_barrier(handle, nullptr, nullptr), HOCKET_OK);
  return sum;
}

class Agreeing : public OverTransports {
 protected:
  enum class State { whole, broken };

  // Kills these ranks while all agree over and over, each so long after the one before. Whatever any rank has been
  // told, also one that was killed, all have been told; then the survivors shrink.
  static void kill(const std::vector<int>& victims, State state, const std::function<void()>& pause) {
    const int size = ranks().size;
    ToldRanks told;
    ProcessGroup group(ranks(), [&](Child& child) {
      const Comm comm;
      ASSERT_TRUE(comm);
      child.say("here");
      EXPECT_EQ(child.hear(), "begin");
      if (state == State::broken) {
        EXPECT_EQ(hocket_comm_abort(comm.get(), "test"), HOCKET_OK);
      }
      child.say("looping");
      agree_until_told(child, comm.get(), told);
      child.say(std::to_string(shrink_and_sum(comm.get(), child.index)));
      while (child.hear() != "leave") continue;
    });
    group.hear_from_all("here");
    for (int rank = 0; rank < size; ++rank) group.tell(rank, "begin");
    group.hear_from_all("looping");
    for (const int victim : victims) {
      group.signal(victim, SIGKILL);
      pause();
    }
    std::uint64_t killed = 0;
    for (const int victim : victims) killed |= std::uint64_t{1} << victim;
    const auto lives = [&](int rank) { return (killed >> rank & 1) == 0; };
    for (int rank = 0; rank < size; ++rank) group.tell(rank, "end");
    for (int rank = 0; rank < size; ++rank) {
      if (lives(rank)) {
        EXPECT_EQ(group.hear(rank), std::to_string(((1 << size) - 1) & ~killed)) << "rank " << rank;
      }
    }
    for (int rank = 0; rank < size; ++rank) group.tell(rank, "leave");
    const auto outcomes = group.wait();
    for (int rank = 0; rank < size; ++rank) {
      EXPECT_EQ(outcomes[static_cast<std::size_t>(rank)].status, lives(rank) ? 0 : -1) << "rank " << rank;
    }
    expect_same(told, size, killed);
  }

 private:
  static void expect_same(const ToldRanks& told, int size, std::uint64_t killed) {
    std::vector<ToldResult> most;
    for (int rank = 0; rank < size; ++rank) {
      if (told.of(rank).size() > most.size()) most = told.of(rank);
    }
    for (int rank = 0; rank < size; ++rank) {
      const std::vector<ToldResult> own = told.of(rank);
      if ((killed >> rank & 1) == 0) {
        EXPECT_EQ(own.size(), most.size()) << "rank " << rank;
      }
      for (std::size_t i = 0; i < own.size(); ++i) ASSERT_EQ(own[i], most[i]) << "rank " << rank << ", agreement " << i;
    }
    std::uint64_t dead = 0;
    for (const ToldResult& one : most) {
      ASSERT_EQ(one.dead & ~killed, 0U) << "only the killed are dead";
      ASSERT_EQ(dead & ~one.dead, 0U) << "who is dead stays dead";
      dead = one.dead;
      const std::uint64_t voters = ((std::uint64_t{1} << size) - 1) & ~one.dead;
      ASSERT_EQ(one.flag | goes_on, ~voters) << "the AND of the flags of all but the dead";
    }
    EXPECT_EQ(dead, killed) << "the last agreement began after the deaths";
  }
};

TEST_P(Agreeing, WithoutAnyOneRank) {
  for (int victim = 0; victim < ranks().size; ++victim) {
    for (const State state : {State::whole, State::broken}) {
      SCOPED_TRACE("victim " + std::to_string(victim) +
                   (state == State::whole ? " of a whole one" : " of a broken one"));
      kill({victim}, state, [] {});
      if (HasFailure()) return;
    }
  }
}

TEST_P(Agreeing, WithoutSeveralThatDieAtOnce) {
  if (ranks().size > 2) {
    kill({0, 1}, State::whole, [] {});
    kill({0, ranks().size - 1}, State::broken, [] {});
  }
  std::vector<int> all_but_one;
  for (int rank = 0; rank + 1 < ranks().size; ++rank) all_but_one.push_back(rank);
  kill(all_but_one, State::whole, [] {});
}

TEST_P(Agreeing, WhoeverDiesOneAfterTheOther) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random{seed};
  std::uniform_int_distribution<> delay(0, 5'000);
  for (int round = 0; round < 6; ++round) {
    std::vector<int> order(static_cast<std::size_t>(ranks().size));
    for (int rank = 0; rank < ranks().size; ++rank) order[static_cast<std::size_t>(rank)] = rank;
    std::ranges::shuffle(order, random);
    order.resize(std::uniform_int_distribution<std::size_t>(1, order.size() - 1)(random));
    SCOPED_TRACE("victims " + testing::PrintToString(order));
    kill(order, round % 2 == 0 ? State::whole : State::broken,
         [&] { std::this_thread::sleep_for(std::chrono::microseconds(delay(random))); });
    if (HasFailure()) return;
  }
}

std::string name_of_case(const testing::TestParamInfo<std::tuple<Ranks, std::string>>& of) {
  return std::get<1>(of.param) + "_" + testing::PrintToString(std::get<0>(of.param));
}
INSTANTIATE_TEST_SUITE_P(Over, Agreeing,
                         testing::Combine(testing::Values(Ranks(2), Ranks(4), Ranks(8)),
                                          testing::Values("auto", "tcp")),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(OverHosts, Agreeing, testing::Combine(testing::Values(Ranks("0011")), testing::Values("auto")),
                         name_of_case);

}  // namespace
}  // namespace hocket::process_testing
