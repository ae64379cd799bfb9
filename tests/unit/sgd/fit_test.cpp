// The fit of the proof, and what it takes for a count to hold.
#include "tools/sgd/fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tools/sgd/page.hpp"
#include "tools/sgd/proof.hpp"

namespace hocket::sgd {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(SgdFit, FindsTheCostsThatTimesWereMadeOf) {
  std::vector<Sample> samples;
  for (const double ranks : {2.0, 3.0, 8.0}) {
    for (const double bytes : {1e4, 1e5, 1e7}) {
      const double messages = 2 * (ranks - 1), sent = messages * bytes / ranks;
      samples.push_back({messages, sent, messages * 50e-6 + sent / 40e6});
    }
  }
  const Fit fit = fit_costs(samples);
  EXPECT_NEAR(fit.alpha, 50e-6, 1e-9);
  EXPECT_NEAR(fit.bandwidth, 40e6, 1);
  EXPECT_NEAR(fit.r_squared, 1, 1e-9);
  EXPECT_NEAR(fit.median_error, 0, 1e-9);
}

TEST(SgdFit, ACostBelowZeroIsNone) {
  const Fit fit = fit_costs(std::vector<Sample>{{1, 100, 1}, {2, 200, 2}, {10, 200, 1.9}});
  EXPECT_EQ(fit.alpha, 0);
  EXPECT_GT(fit.bandwidth, 0);
  const Fit one_size = fit_costs(std::vector<Sample>{{2, 100, 1}, {2, 100, 1}});
  EXPECT_NEAR(one_size.seconds(2, 100), 1, 1e-9);
}

TEST(SgdFit, BytesThatMakeNoDifferenceCostNothing) {
  const Fit fit = fit_costs(std::vector<Sample>{{2, 100, 1}, {2, 1000, 0.99}, {4, 150, 2}, {4, 1500, 1.98}});
  EXPECT_NEAR(fit.alpha, 0.5, 0.01);
  EXPECT_TRUE(std::isinf(fit.bandwidth));
  EXPECT_GT(fit.r_squared, 0.99);
}

// One call that something delayed, among times over three orders of magnitude.
TEST(SgdFit, AnOutlierDoesNotDecide) {
  std::vector<Sample> samples;
  for (const double bytes : {1e3, 1e4, 1e5, 1e6}) {
    for (const double messages : {2.0, 4.0, 6.0, 8.0}) {
      samples.push_back({messages, messages * bytes, messages * (50e-6 + bytes / 40e6)});
    }
  }
  samples[14].seconds *= 20;
  const Fit fit = fit_costs(samples);
  EXPECT_NEAR(fit.alpha, 50e-6, 5e-6);
  EXPECT_NEAR(fit.bandwidth, 40e6, 4e6);
  EXPECT_GT(fit.r_squared, 0.9);
}

TEST(SgdFit, OneTimeForAllCallsExplainsNothing) {
  const Fit fit = fit_costs(std::vector<Sample>{{2, 100, 1}, {8, 900, 1.1}, {2, 120, 0.9}, {8, 800, 1}});
  EXPECT_LE(fit.r_squared, 0);
}

Measured ring_of_four() {
  return {.way = Way::ring,
          .ranks = 4,
          .bytes = 4000,
          .steps = {6, 6},
          .sent = {6000, 6000},
          .sums_right = true,
          .seconds = 0.5};
}

TEST(SgdProof, HoldsOnlyWhereEveryRankDidWhatTheFormulaSays) {
  EXPECT_TRUE(ring_of_four().holds());
  for (const auto& spoil : std::vector<void (*)(Measured&)>{
           [](Measured& one) { one.steps.most = 7; }, [](Measured& one) { one.steps.least = 5; },
           [](Measured& one) { one.sent.most += 4; }, [](Measured& one) { one.sent.least -= 4; },
           [](Measured& one) { one.sums_right = false; }}) {
    Measured spoiled = ring_of_four();
    spoil(spoiled);
    EXPECT_FALSE(spoiled.holds());
    EXPECT_FALSE((Proven{.measured = {ring_of_four(), spoiled}}).holds());
  }
}

TEST(SgdProof, NaiveTrafficOfRankZeroGrowsWithTheRanks) {
  Measured naive = ring_of_four();
  naive.way = Way::naive;
  naive.steps = {1, 3};
  naive.sent = {4000, 12000};
  EXPECT_TRUE(naive.holds());
  naive.sent.most = 6000;
  EXPECT_FALSE(naive.holds());
}

TEST(SgdProof, PaysWhileSynchronisingCostsLessThanTheOtherRanksSave) {
  const Trial trial{.ranks = 4, .times = {.compute = 1, .wait = 3, .update = 0}, .step_alone = 4};
  EXPECT_DOUBLE_EQ(trial.ratio(), 3);
  EXPECT_DOUBLE_EQ(trial.formula_speedup(), 1);
  EXPECT_DOUBLE_EQ(trial.measured_speedup(), 1);
}

TEST(SgdProof, DoubtsTimesThatTheFormulaOrTheCoresDoNotExplain) {
  Proven proven{.cores = 4, .measured = {ring_of_four()}};
  proven.ring.r_squared = proven.naive.r_squared = 0.9;
  EXPECT_THAT(proven.doubts(), IsEmpty());
  proven.ring.r_squared = 0.8999;
  EXPECT_THAT(proven.doubts(), ElementsAre(HasSubstr("R² of the ring is below 0.9")));
  proven.cores = 3;
  EXPECT_THAT(proven.doubts(), ElementsAre(HasSubstr("This machine has 3 processor cores"), HasSubstr("R²")));
  EXPECT_THAT(page(proven), HasSubstr("R² of the ring is below 0.9"));
  // The counts hold, and yet nobody takes the times for what the formula says.
  EXPECT_THAT(page(proven), HasSubstr("verdict\">Every counted fact holds exactly"));
  EXPECT_THAT(page(proven), HasSubstr("verdict wrong\">The formula does not describe these times"));
  proven.ring.r_squared = 0.95;
  EXPECT_THAT(page(proven), HasSubstr("verdict\">The formula describes the times"));
}

TEST(SgdPage, SaysWhatHoldsAndWhatDoesNot) {
  Proven proven{.links = "<two> tins & a string",
                .measured = {ring_of_four()},
                .trials = {Trial{.times = {.compute = 1}, .step_alone = 1}}};
  proven.ring = proven.naive = {.alpha = 1e-3, .bandwidth = 1e6};
  EXPECT_THAT(page(proven), HasSubstr("Every counted fact holds"));
  EXPECT_THAT(page(proven), HasSubstr("&lt;two&gt; tins &amp; a string"));
  proven.measured.front().sent.most = 1;
  EXPECT_THAT(page(proven), HasSubstr("does not hold"));
  EXPECT_THAT(page(proven), Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace hocket::sgd
