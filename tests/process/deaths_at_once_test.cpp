// Several ranks that die at once: all that survive name one of the dead, the same one, with the same words.
#include <signal.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

constexpr int size = 5;  // of so many, an alltoall connects all with all

class DeathsAtOnce : public testing::TestWithParam<std::tuple<const char*, std::set<int>>> {};

void be_rank(Child& child, const char* transport) {
  hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
  options.transport = transport;
  options.timeout_ms = 20'000;
  const Comm comm(&options);
  ASSERT_TRUE(comm);
  std::vector<int> send(size, child.index), receive(size);
  hocket_result result = HOCKET_OK;
  for (int rounds = 1; result == HOCKET_OK; ++rounds) {
    result = hocket_alltoall(send.data(), receive.data(), 1, HOCKET_INT32, comm.get(), nullptr, nullptr);
    if (result == HOCKET_OK) {
      result = hocket_allreduce(send.data(), receive.data(), 5, HOCKET_INT32, HOCKET_MAX, comm.get(), nullptr, nullptr);
    }
    if (rounds == 3) child.say("looping");
  }
  const hocket_cause cause = last_cause();
  child.say(std::string(hocket_result_name(result)) + " " + std::to_string(cause.peer) + ", seen by " +
            std::to_string(cause.rank) + ": " + cause.message);
  (void)child.hear();  // stays until all have looked
}

TEST_P(DeathsAtOnce, HaveOneCause) {
  const auto& [transport, dead] = GetParam();
  for (int run = 0; run < 5; ++run) {
    SCOPED_TRACE("run " + std::to_string(run));
    ProcessGroup group(size, [&, name = transport](Child& child) { be_rank(child, name); });
    group.hear_from_all("looping");
    for (const int victim : dead) group.signal(victim, SIGKILL);
    std::vector<std::string> said;
    for (int index = 0; index < size; ++index) {
      if (!dead.contains(index)) said.push_back(group.hear(index));
    }
    for (int index = 0; index < size; ++index) {
      if (!dead.contains(index)) group.tell(index, "leave");
    }
    const auto outcomes = group.wait();
    for (int index = 0; index < size; ++index) {
      EXPECT_EQ(outcomes[static_cast<std::size_t>(index)].status, dead.contains(index) ? -1 : 0) << "process " << index;
    }
    EXPECT_EQ(std::set<std::string>(said.begin(), said.end()).size(), 1u) << testing::PrintToString(said);
    const bool names_one = std::any_of(dead.begin(), dead.end(), [&](int victim) {
      return said.front().starts_with("HOCKET_PEER_LOST " + std::to_string(victim) + ",");
    });
    EXPECT_TRUE(names_one) << said.front();
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Over, DeathsAtOnce,
                         testing::Combine(testing::Values("tcp", "shm", "auto"),
                                          testing::Values(std::set{1, 3}, std::set{2, 3}, std::set{0, 2, 4},
                                                          std::set{2, 3, 4})),
                         [](const auto& of) {
                           std::string name = std::get<0>(of.param);
                           for (const int victim : std::get<1>(of.param)) name += "_" + std::to_string(victim);
                           return name;
                         });

}  // namespace
}  // namespace hocket::process_testing
