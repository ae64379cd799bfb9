// What the model chooses.
#include "src/plan/tuner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

Network network_of(const NetworkDescription& description) {
  const auto made = Network::make(description);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *made;
}

Network tuner_flat(Rank ranks, const LinkCost& link) {
  return network_of({.ranks = ranks, .link = link});
}

std::string_view chosen(const Comparison& one) {
  return one.candidates[one.chosen].algorithm->name;
}

// Where only latency costs, few rounds win; where only bytes cost, few bytes do.
TEST(Tuner, FollowsWhatTheNetworkCharges) {
  const std::vector<std::size_t> sizes = tuning_sizes(Collective::allreduce, 8);
  const auto latency = compare_algorithms(tuner_flat(8, {.latency = 1e-3}), Collective::allreduce, sizes);
  const auto bytes = compare_algorithms(tuner_flat(8, {.wire_per_byte = 1e-6}), Collective::allreduce, sizes);
  ASSERT_TRUE(latency.ok() && bytes.ok());
  for (const Comparison& one : *latency) {
    for (const Candidate& candidate : one.candidates) {
      EXPECT_LE(one.candidates[one.chosen].seconds, 1.03 * candidate.seconds) << candidate.algorithm->name;
    }
  }
  EXPECT_NE(chosen(latency->front()), "ring");
  const Comparison& largest = bytes->back();
  for (const Candidate& candidate : largest.candidates) {
    if (candidate.algorithm->name != "one_shot") continue;
    EXPECT_GT(candidate.seconds, 1.5 * largest.candidates[largest.chosen].seconds);
  }
}

TEST(Tuner, IsATableThatHoldsForAllSizes) {
  const Network network = tuner_flat(4, {.latency = 10e-6, .send = 2e-6, .receive = 2e-6, .wire_per_byte = 1e-9});
  const std::vector<std::size_t> sizes = tuning_sizes(Collective::allreduce, 4);
  EXPECT_EQ(sizes.front(), 64U);
  EXPECT_EQ(sizes.back(), std::size_t{64} << 20);
  const auto comparisons = compare_algorithms(network, Collective::allreduce, sizes);
  ASSERT_TRUE(comparisons.ok()) << comparisons.status().message();
  Choices choices;
  add_ranges(*comparisons, Collective::allreduce, choices);
  for (const Comparison& one : *comparisons) {
    EXPECT_EQ(choices.wanted(Collective::allreduce, one.bytes).algorithm->name, chosen(one)) << one.bytes;
  }
  EXPECT_EQ(choices.wanted(Collective::allreduce, 0).algorithm->name, chosen(comparisons->front()));
  EXPECT_EQ(choices.wanted(Collective::allreduce, SIZE_MAX).algorithm->name, chosen(comparisons->back()));
  EXPECT_GT(choices.text().size(), std::string("allreduce=ring").size()) << "one algorithm cannot be best everywhere";
}

TEST(Tuner, KeepsToWhatIsBuiltInWhereItIsAsGood) {
  const auto all_alike =
      compare_algorithms(tuner_flat(4, {}), Collective::allreduce, std::vector<std::size_t>{64, 1 << 20});
  ASSERT_TRUE(all_alike.ok());
  EXPECT_EQ(all_alike->front().chosen, all_alike->front().built_in);
  EXPECT_EQ(all_alike->back().chosen, all_alike->front().chosen);
}

TEST(Tuner, LeavesOutWhatCannotBeChosenAndChoosesTheSame) {
  const LinkCost link{.latency = 10e-6, .send = 2e-6, .receive = 2e-6, .wire_per_byte = 1e-9};
  const NetworkDescription torus{.kind = NetworkKind::torus, .ranks = 12, .rows = 3, .columns = 4, .link = link};
  const NetworkDescription hosts{
      .kind = NetworkKind::hosts, .ranks = 12, .ranks_per_host = 4, .link = link, .local = {.send = 1e-6}};
  for (const Network& network : {tuner_flat(13, link), network_of(torus), network_of(hosts)}) {
    for (const Collective collective : {Collective::allreduce, Collective::broadcast, Collective::alltoall}) {
      const std::vector<std::size_t> sizes = tuning_sizes(collective, network.size());
      std::size_t tried = 0, left_out = 0;
      const auto count = [&](const Algorithm&, std::size_t) { ++tried; };
      const auto some = compare_algorithms(network, collective, sizes, {.leave_out_hopeless = true, .progress = count});
      const auto all = compare_algorithms(network, collective, sizes);
      ASSERT_TRUE(some.ok() && all.ok());
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const Comparison &one = (*some)[i], &whole = (*all)[i];
        EXPECT_EQ(chosen(one), chosen(whole)) << name_of(collective) << " of " << sizes[i];
        ASSERT_EQ(one.candidates.size(), whole.candidates.size());
        for (std::size_t at = 0; at < one.candidates.size(); ++at) {
          EXPECT_LE(one.candidates[at].seconds, 2 * whole.candidates[at].seconds);  // what it takes at least
          EXPECT_FALSE(whole.candidates[at].left_out);
          left_out += one.candidates[at].left_out;
        }
      }
      EXPECT_EQ(tried + left_out, sizes.size() * all->front().candidates.size());
      if (collective == Collective::allreduce) {
        EXPECT_GT(left_out, 10u);
      }
    }
  }
}

TEST(Tuner, ExpectsTimeOfABarrier) {
  const Network network = tuner_flat(8, {.latency = 1e-6});
  const auto expected = expected_seconds(network, *find_algorithm(Collective::barrier, "dissemination"), 0);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  EXPECT_NEAR(*expected, 3e-6, 1e-9);
}

// Ranks that had nothing to do must wake up first, where they share cores; busy ones go on.
TEST(Tuner, CountsWakingUpWhereCoresAreShared) {
  NetworkDescription description{.kind = NetworkKind::hosts, .ranks = 4, .ranks_per_host = 4, .cores_per_host = 4};
  description.local = {.send = 1e-6, .receive = 1e-6};
  description.local.wake = 5e-6;
  const Algorithm& ring = *find_algorithm(Collective::allreduce, "ring");
  const double alone = *expected_seconds(network_of(description), ring, 64);
  description.cores_per_host = 2;
  const double shared = *expected_seconds(network_of(description), ring, 64);
  description.local.wake = 0;
  const double without = *expected_seconds(network_of(description), ring, 64);
  EXPECT_GT(shared, without + 5e-6);
  EXPECT_GE(without, alone);
}

}  // namespace
}  // namespace hocket
