// No wake-up is lost: every order in which the threads of an executor can take their steps is tried.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tests/unit/exec/progress_model.hpp"

namespace hocket::progress_model {
namespace {

struct Found {
  std::size_t worlds = 0;
  std::string failure;  // empty: none
};

std::string_view bytes_of(const World& world) {
  return {reinterpret_cast<const char*>(&world), sizeof world};
}

// Tries everything. Two ways to fail: everybody sleeps while something is left to do, or two threads hold progress.
Found explore(const Scenario& scenario, const Mutation& mutation = {}) {
  const Model model(scenario, mutation);
  std::unordered_set<std::string> seen{std::string(bytes_of(model.first()))};
  std::vector<World> to_do{model.first()};
  while (!to_do.empty()) {
    const World world = to_do.back();
    to_do.pop_back();
    if (!model.is_sound(world)) return {seen.size(), "two threads hold progress, or nobody does who should"};
    const auto next = model.next(world);
    if (next.empty() && !model.everything_is_done(world)) {
      std::string where = "everybody sleeps, at";
      for (const Actor& actor : world.actors) where += " " + std::to_string(static_cast<int>(actor.pc));
      return {seen.size(), where + ", word " + std::to_string(world.word)};
    }
    for (const World& other : next) {
      if (seen.insert(std::string(bytes_of(other))).second) to_do.push_back(other);
    }
  }
  return {seen.size(), {}};
}

std::vector<Scenario> scenarios() {
  const std::vector<Scenario> meetings = {
      {{Role::watcher, Role::run, Role::run}, Peers::ready},
      {{Role::watcher, Role::run, Role::run}, Peers::want_all_begun},
      {{Role::watcher, Role::run, Role::run}, Peers::want_other_returned},
      {{Role::watcher, Role::run, Role::start}, Peers::want_all_begun},
      {{Role::watcher, Role::start, Role::start}, Peers::ready},
      {{Role::watcher, Role::start_here, Role::run}, Peers::want_all_begun},
      {{Role::watcher, Role::start_here, Role::start}, Peers::ready},
      {{Role::watcher, Role::start_here, Role::start_and_wait}, Peers::want_other_returned},
      {{Role::watcher, Role::start_here, Role::impatient}, Peers::want_all_begun},
      {{Role::watcher, Role::start_here, Role::aborter}, Peers::silent},
      {{Role::watcher, Role::start_here, Role::exclusive}, Peers::ready},
      {{Role::watcher, Role::start, Role::start_and_wait}, Peers::want_all_begun},
      {{Role::watcher, Role::start, Role::start_and_wait}, Peers::want_other_returned},
      {{Role::watcher, Role::run, Role::impatient}, Peers::ready},
      {{Role::watcher, Role::start, Role::impatient}, Peers::want_all_begun},
      {{Role::watcher, Role::aborter}, Peers::silent},
      {{Role::watcher, Role::run, Role::aborter}, Peers::silent},
      {{Role::watcher, Role::start, Role::aborter}, Peers::silent},
      {{Role::watcher, Role::start_and_wait, Role::aborter}, Peers::ready},
      {{Role::watcher, Role::run, Role::newcomer, Role::newcomer}, Peers::silent},
      {{Role::watcher, Role::start, Role::newcomer}, Peers::ready},
      {{Role::watcher, Role::impatient, Role::newcomer}, Peers::silent},
      {{Role::watcher, Role::start, Role::exclusive}, Peers::silent},
      {{Role::watcher, Role::run, Role::exclusive}, Peers::ready},
      {{Role::watcher, Role::impatient, Role::exclusive}, Peers::ready},
      {{Role::watcher, Role::newcomer, Role::stopper}, Peers::silent},
  };
  std::vector<Scenario> all;
  for (Scenario meeting : meetings) {
    for (const bool over_window : {false, true}) {
      meeting.over_window = over_window;
      all.push_back(meeting);
    }
    meeting.after_many_starts = true;
    all.push_back(meeting);
  }
  return all;
}

TEST(ProgressState, LosesNoWakeUp) {
  std::size_t worlds = 0;
  const auto all = scenarios();
  for (const Scenario& scenario : all) {
    const Found found = explore(scenario);
    EXPECT_EQ(found.failure, "") << "in scenario " << &scenario - all.data();
    worlds += found.worlds;
  }
  RecordProperty("worlds", std::to_string(worlds));
  EXPECT_GT(worlds, 10'000U) << "or this test tests nothing";
}

// The short way does what the long one would do.
TEST(ProgressState, WhoLeavesWorkInARowReleasesAsOthersDo) {
  constexpr State words = 4 * progress::one_caller;
  std::size_t allowed = 0;
  for (State word = 0; word < words; ++word) {
    const Transition left = progress::leave_started(word);
    if (!left.allowed) continue;
    ++allowed;
    const Transition released = progress::release_started(word, true);
    EXPECT_TRUE(released.allowed && (word & progress::taken) != 0);
    EXPECT_EQ(left.next, released.next);
    EXPECT_EQ(released.wakes, Wakes{});
  }
  EXPECT_EQ(allowed, 1U);
}

// What the tests above prove, they would not prove if they could not find these.
struct Defect {
  std::string name;
  Mutation mutation;
  friend void PrintTo(const Defect& defect, std::ostream* out) { *out << defect.name; }
};

class ProgressStateWithADefect : public testing::TestWithParam<Defect> {};

TEST_P(ProgressStateWithADefect, IsFound) {
  const auto all = scenarios();
  // From both ends in turn: either way alone, some are found only behind much that has none.
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Scenario& scenario = all[i % 2 == 0 ? i / 2 : all.size() - 1 - i / 2];
    if (!explore(scenario, GetParam().mutation).failure.empty()) return;
  }
  FAIL() << "nobody misses it";
}

std::vector<Defect> defects() {
  const auto no_holder = [](Transition& transition) { transition.wakes.holder = false; };
  const auto wrong_sleep = [](Transition& transition) { transition.wakes.holder_on_window ^= true; };
  const auto no_waiters = [](Transition& transition) { transition.wakes.waiters = false; };
  const auto no_watcher = [](Transition& transition) { transition.wakes.watcher = false; };
  const auto flag_forgotten = [](State flag) { return [flag](Transition& transition) { transition.next &= ~flag; }; };
  return {
      {"SubmitWakesNoHolder", {Event::submit, no_holder}},
      {"SubmitWakesTheWrongSleep", {Event::submit, wrong_sleep}},
      {"SubmitWakesNoWatcher", {Event::submit, no_watcher}},
      {"WantWakesNoHolder", {Event::want, no_holder}},
      {"LeaveWakesNoWaiters", {Event::leave, no_waiters}},
      {"LeaveWakesNoWatcher", {Event::leave, no_watcher}},
      {"ReleaseWakesNoWaiters", {Event::release, no_waiters}},
      {"ReleaseWakesNoWatcher", {Event::release, no_watcher}},
      {"ReleaseForgetsWhatIsLeft", {Event::release, flag_forgotten(progress::unfinished)}},
      {"WhoStartsWakesNoWaiters", {Event::release_started, no_waiters}},
      {"WhoStartsWakesNoWatcher", {Event::release_started, no_watcher}},
      {"WhoStartsForgetsWhatIsLeft", {Event::release_started, flag_forgotten(progress::unfinished)}},
      {"AbortWakesNoHolder", {Event::request_abort, no_holder}},
      {"AbortWakesNoWatcher", {Event::request_abort, no_watcher}},
      {"CallToLinksWakesNoHolder", {Event::call_to_links, no_holder}},
      {"ShowWakesNoWaiters", {Event::show, no_waiters}},
      {"StopWakesNoWatcher", {Event::stop, no_watcher}},
      {"AnnounceWakesNobody", {Event::announce, no_waiters}},
      {"SleepersDoNotSayThatTheySleep", {Event::fall_asleep, flag_forgotten(progress::asleep)}},
      {"SleepersOnTheWindowDoNotSayWhere", {Event::fall_asleep, flag_forgotten(progress::on_window)}},
      {"SleepIsNeverRefused",
       {Event::fall_asleep,
        [](Transition& transition) {
          if (!transition.allowed) transition = {.next = transition.next | progress::asleep};
        }}},
      {"TheWatcherDoesNotSayThatItWaits", {Event::wait_as_watcher, flag_forgotten(progress::watcher_waits)}},
      {"TheWatcherDoesNotSayThatItProgresses", {Event::take_as_watcher, flag_forgotten(progress::by_watcher)}},
      {"TheWatcherSaysThatItDozesAndSleeps",
       {Event::lie_down, [](Transition& transition) { transition.next |= progress::dozing; }}},
      {"SubmissionsAreNotNoted", {Event::submit, flag_forgotten(progress::submitted)}},
      {"TwoMayTake", {Event::take, [](Transition& transition) { transition.allowed = true; }}},
      {"WakersDoNotWaitForTheMutex", {.notifies_without_mutex = true}},
  };
}

INSTANTIATE_TEST_SUITE_P(Defects, ProgressStateWithADefect, testing::ValuesIn(defects()),
                         [](const auto& defect) { return defect.param.name; });

}  // namespace
}  // namespace hocket::progress_model
