// What the closed forms of direct paths say: the sums of what the paths do, and the bound of the processors.
#include "src/plan/direct/cost.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "src/plan/direct/staging.hpp"
#include "tests/unit/plan/units.hpp"

namespace hocket {
namespace {

Network host(Rank ranks, Rank cores, const DirectCost& direct) {
  const auto made = Network::make(
      {.kind = NetworkKind::hosts, .ranks = ranks, .ranks_per_host = ranks, .cores_per_host = cores, .direct = direct});
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *made;
}

DirectExpectation expected(const Network& network, const DirectCall& call,
                           std::optional<DirectPath> path = std::nullopt) {
  const auto made = expect_direct(network, call, path);
  EXPECT_TRUE(made.has_value());
  return made.value_or(DirectExpectation());
}

DirectCall allreduce(Rank ranks, std::size_t bytes) {
  return {.collective = Collective::allreduce, .ranks = ranks, .count = bytes / 4};
}

TEST(DirectCost, ABarrierIsACallAFlagAndALineOfEachOther) {
  const Network network = host(4, 0, {.call = 1000, .line = 10, .flag = 1});
  const DirectExpectation barrier = expected(network, {.collective = Collective::barrier, .ranks = 4});
  EXPECT_EQ(barrier.path, DirectPath::one_shot);
  EXPECT_DOUBLE_EQ(barrier.seconds, 1000 + 3 * 10 + 1);
  EXPECT_DOUBLE_EQ(barrier.processors, 1000 + 3 * 10) << "a core for each";
}

TEST(DirectCost, SmallVectorsAreCombinedByEachRank) {
  const Network network = host(4, 0, {.copy_per_byte = 1, .reduce_per_byte = 100, .cache_bytes = 1e9});
  EXPECT_DOUBLE_EQ(expected(network, allreduce(4, 32)).seconds, 3 * 32 * 100) << "it stands in the line itself";
  EXPECT_DOUBLE_EQ(expected(network, allreduce(4, 4 * kib)).seconds, 4 * kib + 3 * 4 * kib * 100);
}

TEST(DirectCost, ARootRunsAheadWithLittle) {
  const Network network = host(4, 0, {.call = 1000, .line = 10, .flag = 999, .copy_per_byte = 1, .cache_bytes = 1e9});
  const auto of = [&](Collective collective, std::size_t block, bool in_place) {
    return expected(network,
                    {.collective = collective, .ranks = 4, .count = block, .element_bytes = 1, .in_place = in_place});
  };
  EXPECT_DOUBLE_EQ(of(Collective::broadcast, 4 * kib, false).seconds, 1000 + 2 * 4 * kib) << "in and its own output";
  EXPECT_DOUBLE_EQ(of(Collective::broadcast, 4 * kib, true).seconds, 1000 + 2 * 10 + 4 * kib)
      << "its line, and what does not fit in";
  EXPECT_DOUBLE_EQ(of(Collective::gather, kib, true).seconds, 1000 + 3 * 2 * 10 + kib + 3 * kib);
}

// A root that does not run ahead, and the ranks that wait for it, work one after the other in each round.
TEST(DirectCost, LongBroadcastsArePipelined) {
  const Network network = host(2, 0, {.far_copy_per_byte = 1, .reads_plain_memory = false});
  const DirectCall call{.collective = Collective::broadcast, .ranks = 2, .count = mib, .in_place = true};
  const DirectExpectation made = expected(network, call);
  EXPECT_EQ(made.path, DirectPath::staged);
  const double rounds = made.terms.rounds;
  EXPECT_GT(rounds, 10);
  EXPECT_DOUBLE_EQ(made.seconds, 4 * mib * (1 + 1 / rounds));
}

TEST(DirectCost, LongAllreducesAreSharedOut) {
  const Network network = host(4, 0, {.far_copy_per_byte = 1, .far_reduce_per_byte = 100});
  const double bytes = 64 * mib;
  const DirectExpectation staged = expected(network, allreduce(4, 64 * mib));
  EXPECT_EQ(staged.path, DirectPath::staged);
  EXPECT_DOUBLE_EQ(staged.seconds, (0.75 + 0.75 + 0.25) * bytes + 0.75 * bytes * 100);
  DirectCall call = allreduce(4, 64 * mib);
  call.registered = true;
  const DirectExpectation mapped = expected(network, call);
  EXPECT_EQ(mapped.path, DirectPath::mapped);
  EXPECT_DOUBLE_EQ(mapped.seconds, 0.75 * bytes + 0.75 * bytes * 100);
}

TEST(DirectCost, SingleCopyReads) {
  const DirectCost cost{.copy_per_byte = 50, .far_copy_per_byte = 1, .read = 1000, .read_per_byte = 100};
  const DirectCall call{.collective = Collective::allgather, .ranks = 2, .count = mib};
  const DirectExpectation made = expected(host(2, 0, cost), call);
  EXPECT_EQ(made.path, DirectPath::single_copy);
  EXPECT_DOUBLE_EQ(made.seconds, 4 * mib + 100.0 * 4 * mib + 1000 * 2) << "its own block, the other one, in two parts";
  DirectCost slow = cost;
  slow.read_per_byte = 126;
  EXPECT_EQ(expected(host(2, 0, slow), call).path, DirectPath::staged) << "two copies are faster";
}

TEST(DirectCost, CachesHoldWhatTheyHold) {
  const DirectCost cost{.copy_per_byte = 1, .far_copy_per_byte = 2, .cache_bytes = 3 * 8 * kib};
  const DirectCall call{.collective = Collective::allgather, .ranks = 2, .count = 8 * kib, .element_bytes = 1};
  EXPECT_DOUBLE_EQ(expected(host(2, 0, cost), call).seconds, 3 * 8 * kib);
  EXPECT_DOUBLE_EQ(expected(host(2, 1, cost), call, DirectPath::one_shot).seconds, 2 * 2 * 3 * 8 * kib)
      << "two ranks, and one core's cache";
}

// On a host with P cores no collective is faster than the work of all its ranks / P.
TEST(DirectCost, ProcessorsAreABound) {
  const DirectCost cost{
      .call = 1, .line = 0.1, .wake = 10, .copy_per_byte = 1, .reduce_per_byte = 3, .cache_bytes = 1e15};
  for (const Collective collective : all_collectives) {
    if (!info_of(collective).direct_paths) continue;
    for (const DirectPath path : all_direct_paths) {
      const DirectCall call{.collective = collective, .ranks = 8, .count = 64 * kib};
      const double alone = expected(host(8, 8, cost), call, path).seconds;
      double last = alone;
      for (const Rank cores : {7, 4, 2, 1}) {
        const DirectExpectation made = expected(host(8, cores, cost), call, path);
        EXPECT_GE(made.seconds, made.processors);
        EXPECT_GE(made.seconds, last - 1e-9) << name_of(collective) << " " << name_of(path);
        last = made.seconds;
      }
      const DirectExpectation one = expected(host(8, 1, cost), call, path);
      const DirectTerms terms = direct_terms(call, path, true);
      const auto work = [&](const DirectWork& of) { return 0.1 * of.lines + of.copied + 3 * of.combined; };
      const double all = 8 * 1 + work(terms.root) + 7 * work(terms.other) + 8 * terms.time_slices * 10;
      EXPECT_NEAR(one.processors, all, 1e-9 * all);
      EXPECT_DOUBLE_EQ(one.seconds, one.processors) << "one core does it all";
    }
  }
}

// Bytes that the loops of src/exec/direct move, by member, for the list of parts that they run over.
struct Moved {
  std::vector<double> copied, combined;
};

Moved moved_by(DirectPath path, const DirectCall& call) {
  const Exchange exchange = call.exchange(grain_of(path, call.exchange(), direct::usual_staging_bytes));
  const auto members = static_cast<std::uint32_t>(call.ranks);
  Moved moved{std::vector<double>(members), std::vector<double>(members)};
  for (std::size_t round = 0; round < exchange.rounds(); ++round) {
    for (std::uint32_t index = 0; index < exchange.parts(); ++index) {
      const Part part = exchange.part(round, index);
      const auto bytes = static_cast<double>(part.bytes);
      const double operands = part.source == everyone ? call.ranks - 1 : 0;
      if (path == DirectPath::mapped) {
        const std::uint32_t worker = static_cast<std::uint32_t>(round * exchange.parts() + index) % members;
        const double targets = part.target == everyone ? call.ranks : 1;
        moved.combined[worker] += operands * bytes;
        moved.copied[worker] += (targets - (operands > 0 ? 1 : 0)) * bytes;
        continue;
      }
      if (exchange.combines()) moved.combined[index] += operands * bytes;
      for (std::uint32_t member = 0; member < members; ++member) {
        const bool for_others = exchange.combines() ? index != member : part.target != member;
        if (part.comes_from(member) && for_others) moved.copied[member] += bytes;
        const bool combined_here = exchange.combines() && index == member;
        if (part.goes_to(member) && !combined_here) moved.copied[member] += bytes;
        if (combined_here && part.target == everyone) moved.copied[member] += bytes;
      }
    }
  }
  return moved;
}

TEST(DirectCost, FormsAreTheSumsOfThePartsThatPathsRunOver) {
  for (const DirectPath path : {DirectPath::staged, DirectPath::mapped}) {
    for (const Collective collective : all_collectives) {
      if (!info_of(collective).direct_paths) continue;
      for (const Rank ranks : {2, 4, 8}) {
        const DirectCall call{.collective = collective, .ranks = ranks, .count = 2 * mib, .element_bytes = 1};
        const DirectTerms terms = direct_terms(call, path, false);
        const Moved moved = moved_by(path, call);
        SCOPED_TRACE(testing::Message() << name_of(path) << ", " << name_of(collective) << " on " << ranks);
        EXPECT_DOUBLE_EQ(terms.root.copied, moved.copied.front());
        EXPECT_DOUBLE_EQ(terms.other.copied, moved.copied.back());
        EXPECT_DOUBLE_EQ(terms.root.combined, moved.combined.front());
        EXPECT_DOUBLE_EQ(terms.other.combined, moved.combined.back());
      }
    }
  }
}

// Rank r combines what r ranks before it bring, and waits for no flag in a row of calls.
TEST(DirectCost, PrefixesCostTheLastRankTheMost) {
  const Network network = host(4, 0, {.call = 1, .line = 100, .flag = 999, .reduce_per_byte = 10, .cache_bytes = 1e9});
  const DirectCall scan{.collective = Collective::scan, .ranks = 4, .count = 2, .in_place = true};
  EXPECT_DOUBLE_EQ(expected(network, scan).seconds, 1 + 3 * 100 + 3 * 8 * 10);
  EXPECT_DOUBLE_EQ(expected(network, scan).processors, (4 + (1 + 2 + 3) * 100 + (1 + 2 + 3) * 8 * 10) / 4.0);
  const DirectCall exscan{.collective = Collective::exscan, .ranks = 4, .count = 2};
  EXPECT_DOUBLE_EQ(expected(network, exscan).seconds, 1 + 3 * 100 + 2 * 8 * 10);
  EXPECT_DOUBLE_EQ(expected(network, exscan).terms.other.copied, 8 / 3.0) << "rank 1 has one operand";
  const DirectCall pair{.collective = Collective::exscan, .ranks = 2, .count = 2};
  EXPECT_DOUBLE_EQ(expected(host(2, 0, {.copy_per_byte = 1, .cache_bytes = 1e9}), pair).seconds, 8);
}

TEST(DirectCost, NothingWhereNoDirectPathRuns) {
  const Network alone = host(1, 0, {}), two = host(2, 0, {});
  EXPECT_FALSE(expect_direct(alone, {.collective = Collective::barrier, .ranks = 1}));
  EXPECT_FALSE(expect_direct(two, {.collective = Collective::scan, .ranks = 2, .count = mib}));
  const DirectCall scan{.collective = Collective::scan, .ranks = 2, .count = 1};
  EXPECT_TRUE(expect_direct(two, scan));
  EXPECT_FALSE(expect_direct(two, scan, DirectPath::staged));
  const auto several =
      Network::make({.kind = NetworkKind::hosts, .ranks = 4, .ranks_per_host = 2, .direct = DirectCost()});
  EXPECT_FALSE(expect_direct(*several, {.collective = Collective::barrier, .ranks = 4}));
  const auto no_window = Network::make({.kind = NetworkKind::hosts, .ranks = 2, .ranks_per_host = 2});
  EXPECT_FALSE(expect_direct(*no_window, {.collective = Collective::barrier, .ranks = 2}));
}

}  // namespace
}  // namespace hocket
