// The simulated members of a window do the work that the closed forms count, and wait as often as these say.
#include "src/plan/direct/simulate.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/plan/units.hpp"

namespace hocket {
namespace {

const DirectCost costs{.call = 0.2e-6,
                       .line = 0.05e-6,
                       .flag = 0.1e-6,
                       .copy_per_byte = 0.05e-9,
                       .reduce_per_byte = 0.07e-9,
                       .far_copy_per_byte = 0.1e-9,
                       .far_reduce_per_byte = 0.13e-9,
                       .cache_bytes = 1 << 20,
                       .read = 1e-6,
                       .read_per_byte = 0.11e-9};

Network host_of(Rank ranks, Rank cores, const DirectCost& direct, std::vector<Slow> slow = {}) {
  const auto made = Network::make({.kind = NetworkKind::hosts,
                                   .ranks = ranks,
                                   .ranks_per_host = ranks,
                                   .cores_per_host = cores,
                                   .direct = direct,
                                   .slow = std::move(slow)});
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *made;
}

DirectCall direct_simulation_call_of(Collective collective, Rank ranks, std::size_t bytes) {
  const bool vector = info_of(collective).is_vector();
  return {.collective = collective, .ranks = ranks, .count = bytes / 4 / static_cast<std::size_t>(vector ? 1 : ranks)};
}

Simulation direct_simulation_run(const Network& network, const DirectCall& call, DirectPath path,
                                 std::size_t calls = 1) {
  return simulate_direct(network, {.call = call, .path = path, .calls = calls, .record = true});
}

Picoseconds direct_simulation_expected(const Network& network, const DirectCall& call, DirectPath path) {
  return picoseconds(expect_direct(network, call, path)->seconds);
}

constexpr Picoseconds rounding = 100;  // each action is rounded

TEST(DirectSimulation, ABarrierIsACallAFlagAndALineOfEachOther) {
  const Network network = host_of(4, 0, {.call = 1e-6, .line = 1e-8, .flag = 1e-9});
  const Simulation barrier =
      direct_simulation_run(network, {.collective = Collective::barrier, .ranks = 4}, DirectPath::one_shot);
  EXPECT_EQ(barrier.time, picoseconds(1e-6) + picoseconds(1e-9) + picoseconds(3e-8));
  EXPECT_EQ(barrier.critical_path.latency, picoseconds(1e-9));
}

TEST(DirectSimulation, TakesTheTimeOfTheFormulaWhereAllDoTheSame) {
  for (const Rank ranks : {2, 4, 8}) {
    const Network network = host_of(ranks, 0, costs);
    for (const std::size_t bytes : {std::size_t{32}, 8 * kib, 128 * kib}) {
      for (const DirectPath path :
           {DirectPath::one_shot, DirectPath::mapped, DirectPath::single_copy, DirectPath::staged}) {
        const DirectCall call = direct_simulation_call_of(Collective::allreduce, ranks, bytes);
        const Exchange cut = call.exchange(grain_of(path, call.exchange(), std::size_t{4} << 20));
        if (cut.rounds() > 1 || bytes < 64 * static_cast<std::size_t>(ranks)) continue;  // parts are whole lines
        EXPECT_NEAR(static_cast<double>(direct_simulation_run(network, call, path).time),
                    static_cast<double>(direct_simulation_expected(network, call, path)), rounding)
            << name_of(path) << " of " << bytes << " bytes on " << ranks;
      }
    }
  }
}

TEST(DirectSimulation, DoesTheWorkThatTheFormulasCount) {
  for (const Collective collective : all_collectives) {
    if (!info_of(collective).direct_paths) continue;
    for (const DirectPath path : all_direct_paths) {
      for (const Rank cores : {8, 3}) {
        for (const std::size_t bytes : {std::size_t{4} * kib, std::size_t{4} * mib}) {
          const DirectCall call = direct_simulation_call_of(collective, 8, bytes);
          if (path == DirectPath::pooled && (!info_of(collective).reduces() || cores == 8)) continue;
          const Network network = host_of(8, cores, costs);
          const Simulation got = direct_simulation_run(network, call, path);
          const double bound = expect_direct(network, call, path)->processors;
          EXPECT_NEAR(seconds(got.processor_bound), bound, 0.02 * bound)
              << name_of(collective) << ", " << name_of(path) << ", " << cores << " cores, " << bytes << " bytes";
          EXPECT_GE(got.time, got.processor_bound);
          EXPECT_EQ(got.time, got.critical_path.sum());
          EXPECT_LE(got.time - got.activity(got.critical.back()).end, picoseconds(costs.flag));
        }
      }
    }
  }
}

// The last rank hears all others and combines what they bring, once the last line is seen.
TEST(DirectSimulation, APrefixIsWhatItsLastRankDoes) {
  for (const Collective collective : {Collective::scan, Collective::exscan}) {
    for (const Rank cores : {8, 3}) {
      for (const std::size_t bytes : {8U, 256U}) {
        const DirectCall call = direct_simulation_call_of(collective, 8, bytes);
        const Network network = host_of(8, cores, costs);
        const Simulation got = direct_simulation_run(network, call, DirectPath::one_shot);
        const auto direct_simulation_expected = expect_direct(network, call);
        ASSERT_TRUE(direct_simulation_expected);
        EXPECT_EQ(direct_simulation_expected->path, DirectPath::one_shot);
        EXPECT_NEAR(seconds(got.processor_bound), direct_simulation_expected->processors,
                    0.02 * direct_simulation_expected->processors);
        EXPECT_EQ(got.last_rank, 7);
        if (cores == 8) {
          EXPECT_NEAR(seconds(got.time), direct_simulation_expected->seconds + costs.flag, 1e-9);
        }
      }
    }
  }
}

// Rounds overlap: while one is copied out, another one is copied in.
TEST(DirectSimulation, AStagedBroadcastIsAPipeline) {
  DirectCost cost = costs;
  cost.reads_plain_memory = false;
  const Network network = host_of(2, 0, cost);
  const DirectCall call = direct_simulation_call_of(Collective::broadcast, 2, 16 * mib);
  const Simulation got = direct_simulation_run(network, call, DirectPath::staged);
  const double one_way = 16.0 * mib * cost.far_copy_per_byte;
  EXPECT_GT(seconds(got.time), 2 * one_way) << "the root copies in, and out to itself";
  EXPECT_LT(seconds(got.time), 2.1 * one_way);
}

// A root that needs nobody's data does not wait for a flag, but may be 1,024 operations ahead at most, and fewer where
// their data fills the staging area: 95 of 16 KiB.
TEST(DirectSimulation, RootsRunAheadInARowOfCalls) {
  const Network network = host_of(4, 0, {.call = 1e-6, .flag = 20e-6});
  const DirectCall call = direct_simulation_call_of(Collective::broadcast, 4, 16);
  const Simulation one = direct_simulation_run(network, call, DirectPath::one_shot),
                   some = direct_simulation_run(network, call, DirectPath::one_shot, 20);
  EXPECT_EQ(one.time, picoseconds(21e-6));
  EXPECT_EQ(some.time, picoseconds(40e-6)) << "one flag in all";
  const Network slow = host_of(4, 0, {.call = 1e-6, .flag = 2e-3});
  const Simulation many = direct_simulation_run(slow, call, DirectPath::one_shot, 3000);
  EXPECT_GT(many.time, picoseconds(3000e-6) + 2 * picoseconds(2e-3));
  const Simulation large = direct_simulation_run(slow, direct_simulation_call_of(Collective::broadcast, 4, 16 * kib),
                                                 DirectPath::one_shot, 300);
  EXPECT_GT(large.time, picoseconds(300e-6) + 2 * picoseconds(2e-3));
  const Simulation barriers =
      direct_simulation_run(network, {.collective = Collective::barrier, .ranks = 4}, DirectPath::one_shot, 10);
  EXPECT_EQ(barriers.time, 10 * picoseconds(21e-6));
}

TEST(DirectSimulation, ASlowMemberIsWaitedForWhereWorkIsNotShared) {
  const DirectCall call = direct_simulation_call_of(Collective::allreduce, 8, 8 * mib);
  const auto time = [&](DirectPath path, Rank cores, std::vector<Slow> slow) {
    return static_cast<double>(direct_simulation_run(host_of(8, cores, costs, std::move(slow)), call, path).time);
  };
  const std::vector<Slow> slow{{.rank = 5, .factor = 4}};
  EXPECT_GT(time(DirectPath::staged, 0, slow), 2.5 * time(DirectPath::staged, 0, {}));
  EXPECT_GT(time(DirectPath::mapped, 0, slow), 3.5 * time(DirectPath::mapped, 0, {}));
  EXPECT_LT(time(DirectPath::mapped, 7, slow), 1.5 * time(DirectPath::mapped, 7, {})) << "the others take its parts";
}

TEST(DirectSimulation, ARankThatMustBeWokenTakesLonger) {
  DirectCost cost = costs;
  const DirectCall call = direct_simulation_call_of(Collective::allreduce, 4, 64 * kib);
  const Picoseconds before = direct_simulation_run(host_of(4, 2, cost), call, DirectPath::staged).time;
  cost.wake = 5e-6;
  EXPECT_GE(direct_simulation_run(host_of(4, 2, cost), call, DirectPath::staged).time, before + picoseconds(5e-6));
  EXPECT_EQ(direct_simulation_run(host_of(4, 4, cost), call, DirectPath::staged).time,
            direct_simulation_run(host_of(4, 4, costs), call, DirectPath::staged).time);
}

}  // namespace
}  // namespace hocket
