// Ranks that are alike may stand for one another only if nothing shows it: the same times, counts, critical path and
// activities as where each rank is simulated.
#include "src/plan/symmetry.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>
#include <tuple>
#include <vector>

#include "src/plan/shared_programs.hpp"
#include "src/plan/simulate.hpp"
#include "src/plan/verify.hpp"
#include "tests/unit/plan/units.hpp"

namespace hocket {
namespace {

// ---- what the catalog says of its entries ---------------------------------------------------------------------------

bool turns_by(const std::vector<RankProgram>& programs, Rank period) {
  const auto size = static_cast<Rank>(programs.size());
  for (Rank rank = 0; rank < size; ++rank) {
    const RankProgram& own = programs[static_cast<std::size_t>(rank)];
    const RankProgram& next = programs[static_cast<std::size_t>((rank + period) % size)];
    if (own.shared != next.shared) return false;
    for (std::size_t i = 0; i < own.peers.size(); ++i) {
      if ((own.peers[i] + period) % size != next.peers[i]) return false;
    }
  }
  return true;
}

std::vector<Topology> equal_hosts(Rank size) {
  std::vector<Topology> made;
  for (Rank each = 1; each <= size; ++each) {
    if (size % each != 0) continue;
    std::vector<std::uint32_t> hosts;
    for (Rank rank = 0; rank < size; ++rank) hosts.push_back(static_cast<std::uint32_t>(rank / each));
    made.emplace_back(hosts);
  }
  return made;
}

TEST(Symmetry, OfTheCatalogsEntriesIsProven) {
  std::size_t known = 0;
  for (const Algorithm& algorithm : catalog()) {
    if (algorithm.symmetry == Symmetry::none) continue;
    for (Rank size = 1; size <= 40; ++size) {
      for (const Topology& topology : algorithm.by_host ? equal_hosts(size) : std::vector<Topology>{{}}) {
        const Rank period = period_of(algorithm, size, topology);
        EXPECT_EQ(size % period, 0);
        const auto programs = write_programs({.algorithm = &algorithm, .size = size, .topology = topology});
        ASSERT_TRUE(programs.ok()) << programs.status().message();
        EXPECT_TRUE(turns_by(*programs, period)) << algorithm.name << " on " << size << ", period " << period;
        known += period < size;
      }
    }
  }
  EXPECT_GT(known, 300U);
}

TEST(Symmetry, IsNoneWhereHostsDiffer) {
  const Algorithm& two_level = *find_algorithm(Collective::allreduce, "two_level");
  EXPECT_EQ(period_of(two_level, 6, Topology({0, 0, 1, 1, 2, 2})), 2);
  EXPECT_EQ(period_of(two_level, 6, Topology({0, 0, 1, 1, 1, 2})), 6) << "as many on average";
  EXPECT_EQ(period_of(two_level, 6, Topology({0, 1, 2, 0, 1, 2})), 6) << "they do not adjoin";
  EXPECT_EQ(period_of(two_level, 5, Topology({0, 0, 1, 1, 2})), 5);
  EXPECT_EQ(period_of(*find_algorithm(Collective::allreduce, "binomial_tree"), 8, {}), 8);
}

// A wrong entry is found out while it is used, as far as the ranks that are looked at show it.
TEST(Symmetry, ThatIsNoneIsRefused) {
  const ScheduleFunction function = [](const Shape& shape, ScheduleBuilder& builder) {
    if (shape.rank == 1) builder.send(0, builder.input(0));
    if (shape.rank == 0) builder.recv(1, builder.output(0));
  };
  const Algorithm wrong{.name = "wrong",
                        .collective = Collective::broadcast,
                        .chunking = Chunking::one,
                        .function = function,
                        .summary = "",
                        .symmetry = Symmetry::ranks};
  const auto network = Network::make({.ranks = 4});
  const auto result = simulate(*network, {.algorithm = &wrong, .count = 1});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::internal);
  EXPECT_NE(result.status().message().find("its entry's symmetry is wrong"), std::string::npos);
}

// ---- what is simulated ----------------------------------------------------------------------------------------------

auto as_tuple(const Activity& part) {
  return std::tuple(part.begin, part.end, part.rank, part.step, part.kind, part.on_wire, part.peer, part.bytes);
}
using PathPart = decltype(as_tuple({}));

std::vector<PathPart> critical_of(const Simulation& run) {
  std::vector<PathPart> parts;
  for (const ActivityRef& ref : run.critical) parts.push_back(as_tuple(run.activity(ref)));
  return parts;
}

std::vector<PathPart> activities_of(const Simulation& run) {
  std::vector<PathPart> parts;
  for (std::uint32_t index = 0; index < run.activities.size(); ++index) {
    for (Rank turn = 0; turn < run.ranks; turn += run.period) parts.push_back(as_tuple(run.activity({index, turn})));
  }
  std::ranges::sort(parts);
  return parts;
}

void expect_same(const Simulation& alike, const Simulation& all) {
  EXPECT_EQ(alike.time, all.time);
  EXPECT_EQ(alike.steps, all.steps);
  EXPECT_EQ(alike.messages, all.messages);
  EXPECT_EQ(alike.bytes, all.bytes);
  EXPECT_EQ(alike.messages_max, all.messages_max);
  EXPECT_EQ(alike.bytes_max, all.bytes_max);
  EXPECT_EQ(alike.last_rank, all.last_rank);
  EXPECT_EQ(alike.last_step, all.last_step);
  EXPECT_EQ(alike.critical_path, all.critical_path);
  EXPECT_EQ(alike.processor_bound, all.processor_bound);
  EXPECT_EQ(critical_of(alike), critical_of(all));
  EXPECT_EQ(activities_of(alike), activities_of(all));
}

const LinkCost costly{.latency = 10 * microsecond,
                      .send = 2 * microsecond,
                      .receive = 3 * microsecond,
                      .send_per_byte = 0.1 * nanosecond,
                      .receive_per_byte = 0.2 * nanosecond,
                      .wire_per_byte = nanosecond,
                      .wake = microsecond};

// With costs, and with none of some kind: then much happens at the same time.
std::vector<LinkCost> links() {
  LinkCost no_latency = costly, no_work = costly;
  no_latency.latency = 0;
  no_work.send = no_work.receive = no_work.send_per_byte = no_work.receive_per_byte = 0;
  return {costly, no_latency, no_work, {.wire_per_byte = nanosecond}, {.latency = microsecond}, {}};
}

std::vector<NetworkDescription> networks(Rank ranks) {
  std::vector<NetworkDescription> made;
  for (const LinkCost& link : links()) {
    const NetworkDescription common{.ranks = ranks,
                                    .link = link,
                                    .local = {.send = link.send / 4, .receive_per_byte = 0.1 * nanosecond},
                                    .copy_per_byte = 0.1 * nanosecond,
                                    .reduce_per_byte = 0.2 * nanosecond};
    made.push_back(common);
    for (const Rank each : {2, 3, 4, 6}) {
      made.push_back(common);
      made.back().kind = NetworkKind::hosts;
      made.back().ranks_per_host = each;
      made.push_back(made.back());
      made.back().cores_per_host = 2;
    }
    made.push_back(common);
    made.back().kind = NetworkKind::torus;
    made.back().rows = grid_of(ranks).rows;
    made.back().columns = grid_of(ranks).columns;
    made.push_back(common);
    made.back().kind = NetworkKind::fat_tree;
    made.back().ranks_per_leaf = 4;
    made.back().oversubscription = 3;
    made.push_back(common);
    made.back().slow = {{.rank = 1, .factor = 3}};
  }
  return made;
}

// How many ranks stood for others.
std::size_t compare(const Network& network, const SimulatedCall& call) {
  SimulatedCall wanted = call;
  wanted.record = true;
  const auto alike = simulate(network, wanted);
  wanted.every_rank = true;
  const auto all = simulate(network, wanted);
  EXPECT_TRUE(alike.ok() && all.ok()) << alike.status().message() << all.status().message();
  if (!alike || !all) return 0;
  EXPECT_EQ(all->period, network.size());
  SCOPED_TRACE(fmt::format("{} {} on {} ranks, {}, {} per host, {} cores, {} elements, {} calls", call.algorithm->name,
                           name_of(call.algorithm->collective), network.size(), name_of(network.description().kind),
                           network.description().ranks_per_host, network.cores_per_host(), call.count, call.calls));
  expect_same(*alike, *all);
  return static_cast<std::size_t>(network.size() - alike->period);
}

TEST(Symmetry, ChangesNothing) {
  std::size_t spared = 0;
  for (const Rank ranks : {2, 6, 12}) {
    for (const NetworkDescription& description : networks(ranks)) {
      const auto network = Network::make(description);
      ASSERT_TRUE(network.ok()) << network.status().message();
      for (const Algorithm& algorithm : catalog()) {
        if (algorithm.symmetry == Symmetry::none || algorithm.encoded) continue;
        const std::uint32_t parts =
            algorithm.collective->is_vector() ? chunks_of(algorithm, ranks, network->topology()) : 1;
        spared += compare(*network, {.algorithm = &algorithm, .count = std::size_t{10} * parts});
        spared += compare(*network, {.algorithm = &algorithm,
                                     .count = std::size_t{10} * parts,
                                     .slice_bytes = 16,
                                     .placement = Placement::in_place,
                                     .calls = 2});
      }
    }
  }
  EXPECT_GT(spared, 10'000U);
}

TEST(Symmetry, IsNotTakenForGrantedWhereChunksDiffer) {
  const auto network = Network::make({.ranks = 7, .link = costly});
  const Algorithm* ring = find_algorithm(Collective::allreduce, "ring");
  EXPECT_EQ(compare(*network, {.algorithm = ring, .count = 15}), 0U);
  EXPECT_EQ(compare(*network, {.algorithm = ring, .count = 3}), 0U) << "some are empty";
  EXPECT_EQ(compare(*network, {.algorithm = ring, .count = 14}), 6U);
}

TEST(Symmetry, IsNotTakenForGrantedOnUnequalNetworks) {
  const Algorithm* ring = find_algorithm(Collective::allreduce, "ring");
  NetworkDescription unequal{.kind = NetworkKind::hosts, .ranks = 10, .ranks_per_host = 4, .link = costly};
  EXPECT_EQ(compare(*Network::make(unequal), {.algorithm = ring, .count = 100}), 0U);
  unequal.ranks_per_host = 5;
  EXPECT_EQ(compare(*Network::make(unequal), {.algorithm = ring, .count = 100}), 5U);
  unequal.slow = {{.from = 2, .to = 3, .factor = 2}};
  EXPECT_EQ(compare(*Network::make(unequal), {.algorithm = ring, .count = 100}), 0U);
}

// ---- paths that are too long to be kept -----------------------------------------------------------------------------

TEST(Symmetry, LongPathsAreThinnedOutEvenly) {
  for (const bool every_rank : {false, true}) {
    const auto network = Network::make({.kind = NetworkKind::hosts, .ranks = 24, .ranks_per_host = 3, .link = costly});
    SimulatedCall call{.algorithm = find_algorithm(Collective::allreduce, "ring"),
                       .count = 24 * 64,
                       .slice_bytes = 64,
                       .record = true,
                       .every_rank = every_rank};
    const auto whole = simulate(*network, call);
    call.activities_max = whole->activities.size() / 5;
    const auto thinned = simulate(*network, call);
    ASSERT_TRUE(whole.ok() && thinned.ok());
    EXPECT_EQ(thinned->time, whole->time);
    EXPECT_EQ(whole->every, 1U);
    EXPECT_GE(thinned->every, 8U);
    EXPECT_LE(thinned->activities.size(), call.activities_max + 24 * 8);
    // Those recorded after the last thinning are all there, those before evenly: all of them in their order.
    const std::vector<PathPart> long_path = critical_of(*whole), short_path = critical_of(*thinned);
    EXPECT_GE(short_path.size(), long_path.size() / thinned->every);
    auto at = long_path.begin();
    for (const PathPart& part : short_path) {
      at = std::find(at, long_path.end(), part);
      ASSERT_NE(at, long_path.end());
    }
  }
}

}  // namespace
}  // namespace hocket
