// A rank that is stopped or killed at any moment is the one that all others name, also those that wait for it through
// others only; and all agree on who saw it first.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/call_patterns.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

// Far enough from the 200 ms after which ranks tell each other that they wait, behind what they have sent before.
constexpr std::int64_t deadline_ms = 2000;

struct Place {
  const char* transport;
  Ranks ranks;
};

void PrintTo(const Place& place, std::ostream* out) {
  *out << place.transport << "_" << testing::PrintToString(place.ranks);
}

class Blame : public testing::TestWithParam<std::tuple<Place, Pattern>> {
 protected:
  const Ranks& ranks() const { return std::get<0>(GetParam()).ranks; }

  // Each rank says how its communicator ended.
  void body(Child& child, int victim) const {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.transport = std::get<0>(GetParam()).transport;
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    hocket_call_options call = HOCKET_CALL_OPTIONS_INIT;
    call.timeout_ms = child.index == victim ? 0 : deadline_ms;
    hocket_result result = HOCKET_OK;
    for (int rounds = 1; result == HOCKET_OK; ++rounds) {
      result = std::get<1>(GetParam()).run({comm.get(), child.index, child.size, call});
      if (rounds == 3) child.say("looping");
    }
    const hocket_cause cause = last_cause();
    child.say(std::string(hocket_result_name(result)) + " of rank " + std::to_string(cause.peer) + ", seen by " +
              std::to_string(cause.rank) + ": " + cause.message);
    (void)child.hear();  // stays until all have looked
  }

  // The others must agree on the rank and, where nothing delays what they tell each other, on who saw it first and in
  // every word.
  void look_at(ProcessGroup& group, int victim, int number, const std::string& expected) const {
    SCOPED_TRACE("victim " + std::to_string(victim));
    std::map<int, std::string> said_by;
    for (int index = 0; index < group.size(); ++index) {
      if (index != victim) said_by[index] = group.hear(index);
    }
    std::vector<std::string> said;
    for (const auto& [index, text] : said_by) said.push_back(text);
    for (int index = 0; index < group.size(); ++index) group.tell(index, "leave");
    if (number == SIGSTOP) group.signal(victim, SIGCONT);
    group.expect_success(number == SIGKILL ? victim : -1);
    EXPECT_THAT(said,
                testing::Each(testing::StartsWith(expected + " of rank " + std::to_string(victim) + ", seen by ")));
    if (!std::get<1>(GetParam()).runs_ahead) {
      EXPECT_THAT(said, testing::Each(said.front()));
    }
    look_at_witnesses(said_by);
  }

  // Where two saw it, whoever is named says so itself, or names one below it of whom it has heard.
  static void look_at_witnesses(const std::map<int, std::string>& said_by) {
    for (const auto& [index, text] : said_by) {
      const auto witness = said_by.find(witness_in(text));
      ASSERT_NE(witness, said_by.end()) << "rank " << index << ": " << text;
      EXPECT_LE(witness_in(witness->second), witness->first) << "rank " << index << ": " << text;
    }
  }
  static int witness_in(const std::string& text) {
    constexpr std::string_view before = "seen by ";
    const auto at = text.find(before);
    return at == std::string::npos ? -1 : std::atoi(text.c_str() + at + before.size());
  }

  // The first rank, the last and one between them, another one in other cases; so many groups beside each other.
  void fall_on(int number, const std::string& expected, std::size_t beside) {
    const int last = ranks().size - 1;
    const std::size_t by_case = std::hash<std::string>()(std::get<1>(GetParam()).name) + static_cast<unsigned>(number);
    const std::vector<int> victims = {0, 1 + static_cast<int>(by_case % static_cast<unsigned>(last - 1)), last};
    for (std::size_t first = 0; first < victims.size() && !HasFailure(); first += beside) {
      std::map<int, std::unique_ptr<ProcessGroup>> groups;  // by victim
      for (const int victim : std::span(victims).subspan(first, std::min(beside, victims.size() - first))) {
        auto& group = groups[victim];
        group = std::make_unique<ProcessGroup>(ranks(), [&, victim](Child& child) { body(child, victim); });
        group->hear_from_all("looping");
        std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution<>(0, 20'000)(random_)));
        group->signal(victim, number);
      }
      for (const auto& [victim, group] : groups) look_at(*group, victim, number, expected);
    }
  }

  std::mt19937 random_{std::random_device{}()};
};

TEST_P(Blame, FallsOnTheRankThatIsStopped) {
  fall_on(SIGSTOP, "HOCKET_TIMEOUT", 3);  // most of the time they wait
}

TEST_P(Blame, FallsOnTheRankThatIsKilled) {
  fall_on(SIGKILL, "HOCKET_PEER_LOST", 2);
}

std::string name_of_blame_case(const testing::TestParamInfo<std::tuple<Place, Pattern>>& of) {
  return testing::PrintToString(std::get<0>(of.param)) + "_" + std::get<1>(of.param).name;
}
INSTANTIATE_TEST_SUITE_P(Over, Blame,
                         testing::Combine(testing::Values(Place{"tcp", 5}, Place{"shm", 4}, Place{"auto", "00112"}),
                                          testing::ValuesIn(call_patterns())),
                         name_of_blame_case);
INSTANTIATE_TEST_SUITE_P(OverOthers, Blame,
                         testing::Combine(testing::Values(Place{"tcp", 3}, Place{"tcp", 8}),
                                          testing::ValuesIn(call_patterns({"ring", "master_and_workers", "barrier"}))),
                         name_of_blame_case);

}  // namespace
}  // namespace hocket::process_testing
