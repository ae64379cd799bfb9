// Every order in which ranks that regroup can hear each other, die, lose patience and make their group, up to a bound:
// those that live agree, whatever happens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/comm/every_order.hpp"
#include "tests/unit/comm/regroup_world.hpp"

namespace hocket::comm {
namespace {

// What comes of every order of events; of more than so many worlds, of some.
class Exploration {
 public:
  explicit Exploration(const World& from, std::size_t worlds_max = 1'000'000) {
    visit_every_order(
        from, [&](const World& world, const std::vector<Event>& events) { look(world, events); }, worlds_max);
  }

  std::size_t ends() const { return ends_; }
  // In which nothing happens any more, and a rank that lives waits.
  const std::vector<std::string>& stuck() const { return stuck_; }
  // In any group that all its members have made.
  const Ranks& ever_together() const { return ever_together_; }
  // That stood at one time.
  std::size_t most_groups() const { return most_groups_; }

 private:
  void look(const World& world, const std::vector<Event>& events) {
    most_groups_ = std::max(most_groups_, world.whole_groups().size());
    for (Rank rank = 0; rank < world.size(); ++rank) {
      if (world.is_done(rank) && world.is_whole(world.rank(rank))) ever_together_.insert(rank);
    }
    const auto dies = [](const Event& event) { return event.kind == Event::Kind::die; };
    if (!std::ranges::all_of(events, dies)) return;
    ++ends_;
    if (is_stuck(world)) stuck_.push_back(world.describe());
  }
  static bool is_stuck(const World& world) {
    for (Rank rank = 0; rank < world.size(); ++rank) {
      if (world.lives(rank) && !world.is_done(rank)) return true;
    }
    return false;
  }

  std::size_t ends_ = 0, most_groups_ = 0;
  std::vector<std::string> stuck_;
  Ranks ever_together_;
};

TEST(RegroupModel, WithoutDeathsAllGoOnTogether) {
  for (const Rank size : {1, 2, 3, 4}) {
    const Exploration exploration(World(size, {}));
    EXPECT_GE(exploration.ends(), 1U);
    EXPECT_THAT(exploration.stuck(), testing::IsEmpty());
    EXPECT_EQ(exploration.most_groups(), 1U);
  }
}

TEST(RegroupModel, WhoeverDiesTheOthersGoOnInOneGroup) {
  for (const auto& [size, deaths] : {std::pair{2, 1}, {3, 1}, {3, 2}}) {
    const Exploration exploration(World(size, {.deaths = deaths}));
    EXPECT_GT(exploration.ends(), 1U);
    EXPECT_THAT(exploration.stuck(), testing::IsEmpty());
    EXPECT_EQ(exploration.most_groups(), 1U);
  }
}

TEST(RegroupModel, TheBlamedOneIsLeftOut) {
  const Exploration exploration(World(3, {.deaths = 1}, {.blamed = {0}}));
  EXPECT_EQ(exploration.most_groups(), 1U);
  EXPECT_FALSE(exploration.ever_together().contains(0));
  EXPECT_THAT(exploration.ever_together(), testing::ElementsAre(1, 2));
}

// A network that parts ranks: each side finds the other out of reach, at any moment.
TEST(RegroupModel, TwoGroupsNeverGoOnAlthoughTheyCannotReachEachOther) {
  for (const Ranks& apart : {Ranks{0}, Ranks{1}, Ranks{2}}) {
    EXPECT_EQ(Exploration(World(3, {}, {.apart = apart}), 50'000).most_groups(), 1U);
  }
  EXPECT_EQ(Exploration(World(2, {}, {.apart = {1}}), 50'000).most_groups(), 1U);
}

TEST(RegroupModel, TwoGroupsNeverGoOnAlthoughPatienceEnds) {
  for (const Limits& limits : {Limits{.losses_of_patience = 2}, Limits{.deaths = 1, .losses_of_patience = 1}}) {
    EXPECT_EQ(Exploration(World(3, limits)).most_groups(), 1U);
  }
}

// What majorities are for.
TEST(RegroupModel, WithoutMajoritiesTwoGroupsMayGoOn) {
  EXPECT_EQ(Exploration(World(2, {.losses_of_patience = 2}, {.majority = false})).most_groups(), 2U);
}

}  // namespace
}  // namespace hocket::comm
