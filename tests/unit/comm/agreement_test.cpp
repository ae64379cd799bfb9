// Every order in which ranks that agree can hear each other, die and learn of deaths, up to a bound: all that ever hold
// an outcome hold the same, and no survivor waits for ever.
#include "src/comm/agreement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/comm/every_order.hpp"

namespace hocket::comm {
namespace {

using Kind = Word::Kind;

// What a test leaves out of the protocol, to see that it is needed.
enum class LeftOut {
  nothing,
  proposing,    // a rank returns what is proposed at once
  acceptances,  // a leader commits what it proposes before all have accepted it
  answering,    // a rank that holds the outcome is heard of no more, though it has not been released

};

struct AgreementEvent {
  enum class Kind { hear, die, notice };
  Kind kind;
  Rank rank;            // to whom it happens
  Rank peer = no_rank;  // hear, notice: from or of whom
};

// Ranks that agree, and what is on the way between them. Rank r's flag lacks bit r alone.
class AgreementWorld {
 public:
  AgreementWorld(Rank size, int deaths, LeftOut left_out = LeftOut::nothing)
      : deaths_(deaths), left_out_(left_out), ranks_(static_cast<std::size_t>(size)), gone_(ranks_.size()) {
    Ranks all;
    for (Rank rank = 0; rank < size; ++rank) all.insert(rank);
    for (Rank rank = 0; rank < size; ++rank) {
      Agreement one(rank, all, {}, ~(std::uint64_t{1} << rank));
      settle(rank, one);
    }
  }

  Rank size() const { return static_cast<Rank>(ranks_.size()); }
  bool lives(Rank rank) const { return !gone_[index(rank)]; }
  const Agreement& rank(Rank rank) const { return *ranks_[index(rank)]; }
  // What some rank holds or has held; of those that differ, the first.
  const std::optional<Outcome>& outcome() const { return outcome_; }
  // What contradicts what all must be able to rely on; "": nothing.
  const std::string& wrong() const { return wrong_; }

  std::vector<AgreementEvent> events() const {
    std::vector<AgreementEvent> events;
    for (Rank rank = 0; rank < size(); ++rank) {
      if (!lives(rank)) continue;
      if (deaths_ > 0) events.push_back({AgreementEvent::Kind::die, rank});
      if (has_returned(rank)) continue;
      for (Rank peer = 0; peer < size(); ++peer) {
        const auto lane = lanes_.find({peer, rank});
        if (lane != lanes_.end() && !lane->second.empty()) events.push_back({AgreementEvent::Kind::hear, rank, peer});
        if (!lives(peer) && !noticed_.contains({rank, peer}))
          events.push_back({AgreementEvent::Kind::notice, rank, peer});
      }
    }
    return events;
  }

  void apply(const AgreementEvent& event) {
    if (event.kind == AgreementEvent::Kind::die) {
      gone_[index(event.rank)] = true;
      --deaths_;
      return;
    }
    Agreement next = rank(event.rank);
    auto& lane = lanes_[{event.peer, event.rank}];
    if (event.kind == AgreementEvent::Kind::hear) {
      const Word word = lane.front();
      lane.pop_front();
      next.heard(event.peer, word);
    } else {
      noticed_.insert({event.rank, event.peer});
      lane.clear();  // what it said last may be lost
      next.lost(event.peer);
    }
    settle(event.rank, next);
  }

  std::string describe() const {
    std::string text;
    for (Rank rank = 0; rank < size(); ++rank) text += lives(rank) ? this->rank(rank).describe() + "\n" : "gone\n";
    for (const auto& [ends, lane] : lanes_) {
      if (!lives(ends.second) || has_returned(ends.second)) continue;
      for (const Word& word : lane) text += fmt::format("{}>{} {}\n", ends.first, ends.second, text_of(word));
    }
    for (const auto& [rank, peer] : noticed_) text += fmt::format("{}!{} ", rank, peer);
    if (outcome_) text += fmt::format("{:x} {}", outcome_->flag, outcome_->dead);
    return text + fmt::format(" {} {}", deaths_, wrong_);
  }

 private:
  static std::size_t index(Rank rank) { return static_cast<std::size_t>(rank); }

  static std::string text_of(const Word& word) {
    return fmt::format("{} {} {:x} {} {}", static_cast<int>(word.kind), word.dead, word.outcome.flag, word.outcome.dead,
                       word.is_final);
  }

  bool has_returned(Rank rank) const {
    const Agreement& one = this->rank(rank);
    return one.over() || (left_out_ == LeftOut::answering && one.outcome());
  }

  void settle(Rank rank, Agreement& one) {
    for (auto& [to, word] : one.take_words()) {
      if (noticed_.contains({rank, to})) continue;
      if (left_out_ == LeftOut::acceptances && word.kind == Kind::propose) {
        lanes_[{to, rank}].push_back({.kind = Kind::accept});
      }
      if (left_out_ == LeftOut::proposing && word.kind == Kind::propose) hold(word.outcome);
      lanes_[{rank, to}].push_back(std::move(word));
    }
    if (one.outcome()) hold(*one.outcome());
    if (one.excluded_by() != no_rank) wrong_ = fmt::format("rank {} is excluded", rank);
    ranks_[index(rank)] = std::make_shared<const Agreement>(one);
  }

  void hold(const Outcome& outcome) {
    if (outcome_ && *outcome_ != outcome) wrong_ = "two outcomes";
    if (!outcome_) outcome_ = outcome;
    std::uint64_t flag = ~std::uint64_t{0};
    for (Rank rank = 0; rank < size(); ++rank) {
      if (!outcome.dead.contains(rank)) flag &= ~(std::uint64_t{1} << rank);
      if (outcome.dead.contains(rank) && lives(rank)) wrong_ = fmt::format("rank {} is not dead", rank);
    }
    if (outcome.flag != flag) wrong_ = fmt::format("the flag is {:x}, not {:x}", outcome.flag, flag);
  }

  int deaths_;
  LeftOut left_out_;
  std::vector<std::shared_ptr<const Agreement>> ranks_;
  std::vector<bool> gone_;
  std::map<std::pair<Rank, Rank>, std::deque<Word>> lanes_;  // from, to
  std::set<std::pair<Rank, Rank>> noticed_;
  std::optional<Outcome> outcome_;
  std::string wrong_;
};

// What is found in any order.
struct Found {
  std::set<std::string> wrong = {};
  std::size_t ends = 0, stuck = 0;
  std::set<Ranks> dead = {};  // that were agreed on
  bool left_alone = false;    // some rank, at an end
};

bool is_stuck(const AgreementWorld& world, Rank rank) {
  const Agreement& one = world.rank(rank);
  return world.lives(rank) && !one.outcome();
}

Found explore(const AgreementWorld& from, std::size_t worlds_max = 1'000'000) {
  Found found;
  const auto look = [&](const AgreementWorld& world, const std::vector<AgreementEvent>& events) {
    if (!world.wrong().empty()) found.wrong.insert(world.wrong());
    if (world.outcome()) found.dead.insert(world.outcome()->dead);
    if (std::ranges::any_of(events,
                            [](const AgreementEvent& event) { return event.kind != AgreementEvent::Kind::die; }))
      return;
    ++found.ends;
    for (Rank rank = 0; rank < world.size(); ++rank) {
      if (is_stuck(world, rank)) ++found.stuck;
      if (world.lives(rank) && !world.rank(rank).over()) found.left_alone = true;
    }
  };
  visit_every_order(from, look, worlds_max);
  return found;
}

void expect_agreement(Rank size, int deaths, std::size_t worlds_max = 2'000'000) {
  SCOPED_TRACE(fmt::format("{} ranks, {} deaths", size, deaths));
  const Found found = explore(AgreementWorld(size, deaths), worlds_max);
  EXPECT_THAT(found.wrong, testing::IsEmpty());
  EXPECT_GE(found.ends, 1U);
  EXPECT_EQ(found.stuck, 0U);
}

TEST(AgreementModel, WithoutDeathsAllReturnTheAndOfTheirFlags) {
  for (const Rank size : {1, 2, 3, 4}) {
    expect_agreement(size, 0);
    EXPECT_THAT(explore(AgreementWorld(size, 0)).dead, testing::ElementsAre(Ranks{}));
  }
}

TEST(AgreementModel, WhoeverDiesTheOthersAgree) {
  for (const auto& [size, deaths] : {std::pair{2, 1}, {3, 1}, {3, 2}, {4, 1}, {4, 2}}) {
    expect_agreement(size, deaths);
  }
}

// A leader that dies while it releases leaves some who know that they are needed no more, and some who do not.
TEST(AgreementModel, ARankMayBeLeftAlone) {
  EXPECT_FALSE(explore(AgreementWorld(3, 0)).left_alone);
  EXPECT_TRUE(explore(AgreementWorld(3, 1)).left_alone);
}

// What each part of the protocol is for: without it, a model as small as this one finds two outcomes, or a rank that
// waits for ever.
TEST(AgreementModel, NoPhaseCanBeLeftOut) {
  EXPECT_THAT(explore(AgreementWorld(3, 2, LeftOut::proposing)).wrong, testing::Contains("two outcomes"));
  EXPECT_THAT(explore(AgreementWorld(3, 2, LeftOut::acceptances)).wrong, testing::Contains("two outcomes"));
  EXPECT_GT(explore(AgreementWorld(3, 1, LeftOut::answering)).stuck, 0U);
}

// What a leader says comes from outside, and may name ranks of the standby that an earlier shrink has left out.
TEST(AgreementOfSurvivors, WhoIsNoMemberIsNotMissing) {
  Agreement agreement(1, {0, 1, 2}, {}, 0);
  Word waits{.kind = Kind::waits};
  waits.outcome.dead = {2, 7};
  agreement.heard(0, waits);
  EXPECT_EQ(agreement.missing(), (Ranks{2}));
}

}  // namespace
}  // namespace hocket::comm
