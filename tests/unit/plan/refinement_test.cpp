// How measured times decide which algorithm is in force, and that what a call's turn is depends on calls alone.
#include "src/plan/refinement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Seconds = std::map<std::string, double, std::less<>>;

const Algorithm* of(std::string_view name) {
  return find_algorithm(Collective::allreduce, name);
}

std::vector<const Algorithm*> three(Collective, std::size_t) {
  return {of("linear"), of("ring"), of("circulant")};
}

constexpr Refinement::Pace quick{.before = 2, .pairs = 3, .patience = 20, .rest = 10};
constexpr Refinement::Call call{.collective = Collective::allreduce, .bytes = 1000};

// One rank that learns at once what was agreed: what each call ran by.
class Rank {
 public:
  explicit Rank(Seconds seconds, Refinement::Pace pace = quick)
      : seconds_(std::move(seconds)), refinement_(three, pace) {}

  std::string_view make(const Refinement::Call& made = call) {
    const auto turn = refinement_.next(made);
    if (turn.exchanged) refinement_.agree(*turn.exchanged, turn.exchanged->medians());
    const Algorithm* algorithm = refinement_.algorithm(turn);
    if (turn.measured) turn.measured->seconds[turn.side].push_back(seconds_.at(std::string(algorithm->name)));
    return algorithm->name;
  }
  std::map<std::string_view, int> make(int calls) {
    std::map<std::string_view, int> made;
    for (int i = 0; i < calls; ++i) ++made[make()];
    return made;
  }
  Refinement& refinement() { return refinement_; }

 private:
  Seconds seconds_;
  Refinement refinement_;
};

TEST(Refinement, TriesEachContenderAndKeepsTheFastest) {
  Rank rank({{"linear", 3e-6}, {"ring", 2e-6}, {"circulant", 1e-6}});
  EXPECT_THAT(rank.make(2), ElementsAre(std::pair("linear", 2)));
  EXPECT_THAT(rank.make(6), ElementsAre(std::pair("linear", 3), std::pair("ring", 3)));
  EXPECT_EQ(rank.make(), "ring");
  EXPECT_THAT(rank.make(6), ElementsAre(std::pair("circulant", 3), std::pair("ring", 3)));
  EXPECT_THAT(rank.make(10), ElementsAre(std::pair("circulant", 10)));
  const auto verdicts = rank.refinement().take_verdicts();
  ASSERT_EQ(verdicts.size(), 2U);
  EXPECT_THAT(describe(verdicts[0]), HasSubstr("allreduce of 513 to 1024 bytes: 3.0 µs by linear, 2.0 µs by ring"));
  EXPECT_TRUE(verdicts[0].switched && verdicts[1].switched);
}

// Once all are known, the two best are compared, now and then.
TEST(Refinement, ComparesTheTwoBestAfterARest) {
  Rank rank({{"linear", 2e-6}, {"ring", 3e-6}, {"circulant", 1e-6}});
  rank.make(2 + 6 + 1 + 6);
  EXPECT_THAT(rank.make(10), ElementsAre(std::pair("circulant", 10)));
  EXPECT_THAT(rank.make(6), ElementsAre(std::pair("circulant", 3), std::pair("linear", 3)));
}

TEST(Refinement, LittleFasterIsNotFaster) {
  Rank rank({{"linear", 1.00e-6}, {"ring", 0.97e-6}, {"circulant", 0.97e-6}});
  rank.make(2 + 6 + 1 + 6);
  EXPECT_EQ(rank.make(), "linear");
  for (const auto& verdict : rank.refinement().take_verdicts()) EXPECT_FALSE(verdict.switched);
}

// One slow call does not decide.
TEST(Refinement, MediansDecide) {
  Refinement::Round round;
  round.seconds = {{{9e-6, 1e-6, 2e-6}, {3e-6, 3e-6, 100e-6}}};
  EXPECT_THAT(round.medians(), ElementsAre(2e-6, 3e-6));
}

// Other operands take other times, so they run by what is in force and are not measured.
TEST(Refinement, CallsOfARoundAreAlike) {
  Rank rank({{"linear", 3e-6}, {"ring", 2e-6}, {"circulant", 1e-6}});
  rank.make(3);
  for (const auto& other :
       {Refinement::Call{.collective = Collective::allreduce, .bytes = 1001},
        Refinement::Call{.collective = Collective::allreduce, .bytes = 1000, .op = ReduceOp::max}}) {
    const auto turn = rank.refinement().next(other);
    EXPECT_EQ(turn.measured, nullptr);
    EXPECT_EQ(rank.refinement().algorithm(turn), of("linear"));
  }
  EXPECT_NE(rank.refinement().next(call).measured, nullptr);
}

TEST(Refinement, SizesHaveVerdictsOfTheirOwn) {
  Rank rank({{"linear", 3e-6}, {"ring", 2e-6}, {"circulant", 1e-6}});
  rank.make(2 + 6 + 1 + 6 + 1);
  EXPECT_EQ(rank.make(call), "circulant");
  EXPECT_EQ(rank.make({.collective = Collective::allreduce, .bytes = 1024}), "circulant");
  EXPECT_EQ(rank.make({.collective = Collective::allreduce, .bytes = 1025}), "linear");
  EXPECT_EQ(rank.make({.collective = Collective::allreduce, .bytes = 512}), "linear");
}

// Where no size comes often enough, rounds end without a verdict, and others begin.
TEST(Refinement, ARoundThatGetsNoCallsIsGivenUp) {
  Rank rank({{"linear", 3e-6}, {"ring", 2e-6}, {"circulant", 1e-6}});
  rank.make(3);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(rank.make({.collective = Collective::allreduce, .bytes = 600 + static_cast<std::size_t>(i)}), "linear")
        << i;
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_TRUE(rank.refinement().take_verdicts().empty());
}

// A rank that hears of verdicts late makes the same turns, and the same choices once it has heard.
TEST(Refinement, LateVerdictsDoNotChangeTurns) {
  const Seconds seconds{{"linear", 3e-6}, {"ring", 2e-6}, {"circulant", 1e-6}};
  Rank prompt(seconds);
  Refinement late(three, quick);
  std::vector<Refinement::Turn> turns;
  std::vector<const Algorithm*> ran;
  std::vector<std::shared_ptr<Refinement::Round>> exchanged;
  for (int i = 0; i < 60; ++i) {
    turns.push_back(late.next(call));
    if (turns.back().exchanged) exchanged.push_back(turns.back().exchanged);
    ran.push_back(of(prompt.make()));
  }
  ASSERT_EQ(exchanged.size(), 4U);
  const auto verdicts = prompt.refinement().take_verdicts();
  std::size_t heard = 0;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    if (turns[i].exchanged) {
      EXPECT_EQ(late.algorithm(turns[i]), nullptr) << i;
      late.agree(*exchanged[heard], verdicts[heard].seconds);
      ++heard;
    }
    EXPECT_EQ(late.algorithm(turns[i]), ran[i]) << i;
  }
}

TEST(Refinement, ContendersAreWhatIsChosenNearby) {
  const Call at_64k{.collective = Collective::allreduce, .size = 8, .bytes = 64 << 10};
  const auto names = [&](const Call& like, std::string_view wanted) {
    std::vector<std::string_view> found;
    for (const Algorithm* algorithm : contenders_for(like, [&](std::size_t) { return wanted; })) {
      found.push_back(algorithm->name);
    }
    return found;
  };
  EXPECT_EQ(names(at_64k, "auto").front(), select_algorithm(at_64k, "auto").name);
  EXPECT_THAT(names(at_64k, "auto"), testing::IsSupersetOf({"recursive_doubling", "rabenseifner", "linear"}));
  EXPECT_EQ(names(at_64k, "chain_of_none").front(), select_algorithm(at_64k, "auto").name);
  EXPECT_EQ(names(at_64k, "one_shot").front(), "one_shot");
  Call two_hosts = at_64k;
  two_hosts.topology = Topology({0, 0, 0, 0, 1, 1, 1, 1});
  EXPECT_THAT(names(two_hosts, "auto"), testing::IsSupersetOf({"two_level", "rabenseifner"}));
  EXPECT_THAT(names({.collective = Collective::reduce, .size = 8, .bytes = 1}, "auto"), ElementsAre("binomial_tree"));
}

}  // namespace
}  // namespace hocket
