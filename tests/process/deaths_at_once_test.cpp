// Several ranks that die at once: all that survive name one of the dead; and where all are connected with all, the same
// one, with the same words.
#include <signal.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/call_patterns.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

using Calls = std::function<hocket_result(const Round&)>;

void be_rank(Child& child, const char* transport, const Calls& calls) {
  hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
  options.transport = transport;
  options.timeout_ms = 20'000;
  const Comm comm(&options);
  ASSERT_TRUE(comm);
  hocket_result result = HOCKET_OK;
  const hocket_call_options ordinary = HOCKET_CALL_OPTIONS_INIT;
  for (int rounds = 1; result == HOCKET_OK; ++rounds) {
    result = calls({comm.get(), child.index, child.size, ordinary});
    if (rounds == 3) child.say("looping");
  }
  const hocket_cause cause = last_cause();
  child.say(std::string(hocket_result_name(result)) + " " + std::to_string(cause.peer) + ", seen by " +
            std::to_string(cause.rank) + ": " + cause.message);
  (void)child.hear();  // stays until all have looked
}

// What those say who survive, each of which must name one of the dead.
std::vector<std::string> said_after(const Ranks& ranks, const char* transport, const Calls& calls,
                                    const std::set<int>& dead) {
  ProcessGroup group(ranks, [&](Child& child) { be_rank(child, transport, calls); });
  group.hear_from_all("looping");
  for (const int victim : dead) group.signal(victim, SIGKILL);
  std::vector<std::string> said;
  for (int index = 0; index < ranks.size; ++index) {
    if (!dead.contains(index)) said.push_back(group.hear(index));
  }
  for (int index = 0; index < ranks.size; ++index) {
    if (!dead.contains(index)) group.tell(index, "leave");
  }
  const auto outcomes = group.wait();
  for (int index = 0; index < ranks.size; ++index) {
    EXPECT_EQ(outcomes[static_cast<std::size_t>(index)].status, dead.contains(index) ? -1 : 0) << "process " << index;
  }
  for (const std::string& words : said) {
    const bool names_one = std::ranges::any_of(
        dead, [&](int victim) { return words.starts_with("HOCKET_PEER_LOST " + std::to_string(victim) + ","); });
    EXPECT_TRUE(names_one) << words;
  }
  return said;
}

std::string deaths_at_name_of(const char* transport, const std::set<int>& dead) {
  std::string name = transport;
  for (const int victim : dead) name += "_" + std::to_string(victim);
  return name;
}

constexpr int runs = 5;

// ---- where all are connected with all

// Of so few ranks, an alltoall does that.
hocket_result connect_all(const Round& round) {
  std::array<int, 5> send{}, receive{};
  const hocket_result result =
      hocket_alltoall(send.data(), receive.data(), 1, HOCKET_INT32, round.comm, nullptr, nullptr);
  if (result != HOCKET_OK) return result;
  return hocket_allreduce(send.data(), receive.data(), 5, HOCKET_INT32, HOCKET_MAX, round.comm, nullptr, nullptr);
}

class DeathsAtOnce : public testing::TestWithParam<std::tuple<const char*, std::set<int>>> {};

TEST_P(DeathsAtOnce, HaveOneCause) {
  const auto& [transport, dead] = GetParam();
  for (int run = 0; run < runs && !HasFailure(); ++run) {
    SCOPED_TRACE("run " + std::to_string(run));
    const auto said = said_after(5, transport, connect_all, dead);
    EXPECT_EQ(std::set<std::string>(said.begin(), said.end()).size(), 1u) << testing::PrintToString(said);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Over, DeathsAtOnce,
    testing::Combine(testing::Values("tcp", "shm", "auto"),
                     testing::Values(std::set{1, 3}, std::set{2, 3}, std::set{0, 2, 4}, std::set{2, 3, 4})),
    [](const auto& of) { return deaths_at_name_of(std::get<0>(of.param), std::get<1>(of.param)); });

// ---- where they are not, and the dead may have stood between those who survive

class DeathsBetween : public testing::TestWithParam<std::tuple<Ranks, std::set<int>, Pattern>> {};

TEST_P(DeathsBetween, AreCauseEnoughForAll) {
  const auto& [ranks, dead, pattern] = GetParam();
  const char* const transport = ranks.hosts.empty() ? "tcp" : "auto";
  for (int run = 0; run < runs && !HasFailure(); ++run) {
    SCOPED_TRACE("run " + std::to_string(run));
    (void)said_after(ranks, transport, pattern.run, dead);
  }
}

INSTANTIATE_TEST_SUITE_P(Over, DeathsBetween,
                         testing::Combine(testing::Values(Ranks(7), Ranks("0112233")),
                                          testing::Values(std::set{1, 4}, std::set{2, 3}, std::set{0, 2, 5}),
                                          testing::ValuesIn(call_patterns({"ring", "chain", "broadcast"}))),
                         [](const auto& of) {
                           return testing::PrintToString(std::get<0>(of.param)) + "_" +
                                  deaths_at_name_of(std::get<2>(of.param).name, std::get<1>(of.param));
                         });

}  // namespace
}  // namespace hocket::process_testing
