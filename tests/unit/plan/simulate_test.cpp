// Times that can be told without a simulator: formulas, conservation, and slow things that must show.
#include "src/plan/simulate.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "src/plan/cost.hpp"
#include "src/plan/layout.hpp"
#include "src/plan/verify.hpp"
#include "tests/unit/plan/units.hpp"

namespace hocket {
namespace {

constexpr std::size_t simulate_elements = 48'000;  // divisible by all the numbers of ranks below

Network flat(Rank ranks, const LinkCost& link) {
  auto made = Network::make({.ranks = ranks, .link = link});
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *made;
}

Simulation simulate_run(const Network& network, SimulatedCall call) {
  auto result = simulate(network, call);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? *result : Simulation{};
}

SimulatedCall simulate_allreduce(std::string_view algorithm, std::size_t count) {
  return {.algorithm = find_algorithm(Collective::allreduce, algorithm), .count = count};
}

TEST(Simulate, RingTakesExactlyTheTimeOfItsFormula) {
  const double latency = 5 * microsecond, per_byte = 1 * nanosecond;
  for (const Rank ranks : {2, 3, 4, 7, 16, 33}) {
    const Network network = flat(ranks, {.latency = latency, .wire_per_byte = per_byte});
    const std::size_t chunk = 1000;  // elements
    const Simulation got = simulate_run(network, simulate_allreduce("ring", chunk * static_cast<std::size_t>(ranks)));
    const Picoseconds step = picoseconds(latency) + picoseconds(4 * chunk * per_byte);
    EXPECT_EQ(got.time, 2 * (ranks - 1) * step) << ranks;
    EXPECT_EQ(got.messages_max, 2u * (static_cast<unsigned>(ranks) - 1));
    EXPECT_EQ(got.critical_path.latency, 2 * (ranks - 1) * picoseconds(latency));
    EXPECT_EQ(got.critical_path.link_wait, 0);
  }
}

TEST(Simulate, EveryByteIsCounted) {
  const Network network = flat(8, {.wire_per_byte = nanosecond});
  const Simulation even = simulate_run(network, simulate_allreduce("ring", 8000));
  EXPECT_EQ(even.bytes, 2u * 7 * 8000 * 4);
  EXPECT_EQ(even.bytes_max, 2u * 7 * 1000 * 4);
  // Chunks of unequal size: 1,001 elements each, the last 994. Still every chunk travels seven times, twice.
  const Simulation unequal = simulate_run(network, simulate_allreduce("ring", 8001));
  EXPECT_EQ(unequal.bytes, 2u * 7 * 8001 * 4);
  // Fewer elements than ranks: empty chunks do not travel.
  const Simulation few = simulate_run(network, simulate_allreduce("ring", 3));
  EXPECT_EQ(few.bytes, 2u * 7 * 3 * 4);
  EXPECT_EQ(few.messages, 2u * 7 * 3);
  EXPECT_EQ(simulate_run(network, simulate_allreduce("ring", 0)).messages, 0u);
}

TEST(Simulate, SlicesMoveTheSameBytesInMoreMessages) {
  const Network network = flat(4, {.latency = microsecond, .wire_per_byte = nanosecond});
  SimulatedCall call = simulate_allreduce("ring", 1 << 16);
  const Simulation whole = simulate_run(network, call);
  call.slice_bytes = 4096;
  const Simulation sliced = simulate_run(network, call);
  EXPECT_EQ(sliced.bytes, whole.bytes);
  EXPECT_EQ(sliced.messages, 16 * whole.messages);
  EXPECT_LT(sliced.critical_path.latency, 16 * whole.critical_path.latency);  // slices hide each other's latency
}

TEST(Simulate, CallsInARowBeginOnEachRankAsSoonAsItIsDone) {
  const Network network = flat(5, {.latency = 3 * microsecond, .wire_per_byte = nanosecond});
  const Picoseconds wire = picoseconds(4000 * nanosecond);
  // The root of a chain sends one after the other, and they follow each other along it.
  SimulatedCall broadcast{.algorithm = find_algorithm(Collective::broadcast, "chain"), .count = 1000, .calls = 6};
  const Simulation chain = simulate_run(network, broadcast);
  EXPECT_EQ(chain.time, 4 * (picoseconds(3 * microsecond) + wire) + 5 * wire);
  EXPECT_EQ(chain.messages, 6 * 4u);
  EXPECT_EQ(chain.critical_path.sum(), chain.time);
  // Slices or not: what flows in a pipeline takes as long.
  broadcast.slice_bytes = 1000;
  EXPECT_EQ(simulate_run(network, broadcast).bytes, chain.bytes);
  // In a ring, nobody is done before the others.
  SimulatedCall ring = simulate_allreduce("ring", 5000);
  const Simulation once = simulate_run(network, ring);
  ring.calls = 6;
  EXPECT_EQ(simulate_run(network, ring).time, 6 * once.time);
}

TEST(Simulate, SharesOfTheCriticalPathAddUpToItsTime) {
  auto network = Network::make({.kind = NetworkKind::hosts,
                                .ranks = 12,
                                .ranks_per_host = 4,
                                .cores_per_host = 2,
                                .link = {.latency = 10 * microsecond,
                                         .send = 2 * microsecond,
                                         .receive = 3 * microsecond,
                                         .send_per_byte = 0.1 * nanosecond,
                                         .receive_per_byte = 0.2 * nanosecond,
                                         .wire_per_byte = nanosecond},
                                .local = {.send = microsecond, .receive_per_byte = 0.1 * nanosecond},
                                .copy_per_byte = 0.1 * nanosecond,
                                .reduce_per_byte = 0.2 * nanosecond});
  ASSERT_TRUE(network.ok()) << network.status().message();
  for (const Algorithm& algorithm : catalog()) {
    if (algorithm.collective == Collective::send || algorithm.collective == Collective::recv || algorithm.encoded)
      continue;
    const Simulation got = simulate_run(*network, {.algorithm = &algorithm, .count = 12'000, .record = true});
    EXPECT_EQ(got.time, got.critical_path.sum()) << algorithm.name;
    EXPECT_GE(got.time, got.processor_bound) << algorithm.name << " " << name_of(algorithm.collective);
    ASSERT_FALSE(got.critical.empty());
    const Activity last = got.activity(got.critical.back());
    EXPECT_EQ(last.end, got.time) << algorithm.name << " " << name_of(algorithm.collective);
    EXPECT_EQ(last.rank, got.last_rank);
    EXPECT_EQ(last.step, got.last_step);
    for (std::size_t i = 1; i < got.critical.size(); ++i) {
      EXPECT_LE(got.activity(got.critical[i - 1]).end, got.activity(got.critical[i]).begin) << algorithm.name;
    }
  }
}

TEST(Simulate, RanksThatShareACoreWaitForIt) {
  NetworkDescription description{.kind = NetworkKind::hosts,
                                 .ranks = 8,
                                 .ranks_per_host = 8,
                                 .cores_per_host = 8,
                                 .local = {.send = microsecond, .receive = microsecond}};
  const Simulation roomy = simulate_run(*Network::make(description), simulate_allreduce("recursive_doubling", 1000));
  EXPECT_EQ(roomy.time, 3 * picoseconds(2 * microsecond));
  description.cores_per_host = 2;
  const Simulation crowded = simulate_run(*Network::make(description), simulate_allreduce("recursive_doubling", 1000));
  EXPECT_EQ(crowded.processor_bound, 4 * roomy.time);  // the work of eight on two
  EXPECT_GE(crowded.time, crowded.processor_bound);
  EXPECT_GT(crowded.critical_path.processor_wait, 0);
}

TEST(Simulate, ASlowLinkSlowsTheRingAndIsOnTheCriticalPath) {
  NetworkDescription description{.ranks = 8, .link = {.latency = microsecond, .wire_per_byte = nanosecond}};
  SimulatedCall call = simulate_allreduce("ring", 8000);
  const Picoseconds before = simulate_run(*Network::make(description), call).time;
  description.slow = {{.from = 3, .to = 4, .factor = 10}};
  call.record = true;
  const Simulation slowed = simulate_run(*Network::make(description), call);
  EXPECT_GT(slowed.time, 2 * before);
  std::size_t over_slow = 0;
  for (const ActivityRef& ref : slowed.critical) {
    const Activity activity = slowed.activity(ref);
    over_slow += activity.on_wire && activity.rank == 3 && activity.peer == 4;
  }
  EXPECT_GE(over_slow, 1u);
  // Where nothing goes that way, nothing changes.
  description.slow = {{.from = 3, .to = 5, .factor = 10}};
  EXPECT_EQ(simulate_run(*Network::make(description), call).time, before);
}

TEST(Simulate, ASlowRankSlowsAll) {
  NetworkDescription description{.ranks = 8, .link = {.send = microsecond, .wire_per_byte = nanosecond}};
  const Picoseconds before = simulate_run(*Network::make(description), simulate_allreduce("ring", 8000)).time;
  description.slow = {{.rank = 5, .factor = 4}};
  EXPECT_GT(simulate_run(*Network::make(description), simulate_allreduce("ring", 8000)).time, 2 * before);
}

TEST(Simulate, OversubscriptionHurtsWhoCrossesTheTree) {
  NetworkDescription description{
      .kind = NetworkKind::fat_tree, .ranks = 16, .ranks_per_leaf = 4, .link = {.wire_per_byte = nanosecond}};
  const Picoseconds full = simulate_run(*Network::make(description), simulate_allreduce("rabenseifner", 16'000)).time;
  const Picoseconds ring = simulate_run(*Network::make(description), simulate_allreduce("ring", 16'000)).time;
  description.oversubscription = 4;
  EXPECT_GT(simulate_run(*Network::make(description), simulate_allreduce("rabenseifner", 16'000)).time, full);
  // The ring crosses with one message a switch at a time, which even the narrow way carries.
  EXPECT_EQ(simulate_run(*Network::make(description), simulate_allreduce("ring", 16'000)).time, ring);
}

TEST(Simulate, ATorusTakesMoreHopsForFartherRanks) {
  const NetworkDescription description{
      .kind = NetworkKind::torus, .ranks = 16, .rows = 4, .columns = 4, .link = {.latency = microsecond}};
  const auto network = Network::make(description);
  ASSERT_TRUE(network.ok()) << network.status().message();
  Network::Route route;
  network->find_route(0, 3, route);  // once around the edge
  EXPECT_EQ(route.latency, picoseconds(microsecond));
  network->find_route(0, 10, route);
  EXPECT_EQ(route.links.size(), 4u);
  EXPECT_EQ(route.latency, 4 * picoseconds(microsecond));
}

// Rank 0 sends to 1, then to 2. While its second message waits behind the first, rank 2 hears rank 3.
TEST(Simulate, AMessageThatWaitsForALinkDoesNotHoldTheNextOne) {
  const ScheduleFunction function = [](const Shape& shape, ScheduleBuilder& builder) {
    if (shape.rank == 0) {
      for (const Rank to : {1, 2}) builder.send(to, builder.input(0));
    }
    if (shape.rank == 1) builder.recv(0, builder.output(0));
    if (shape.rank == 2) {
      for (const Rank from : {0, 3}) builder.recv(from, builder.output(from));
    }
    if (shape.rank == 3) builder.send(2, builder.input(3));
  };
  const Algorithm crossing{.name = "crossing",
                           .collective = Collective::allgather,
                           .chunking = Chunking::one_per_rank,
                           .function = function,
                           .summary = ""};
  const Simulation got = simulate_run(flat(4, {.wire_per_byte = nanosecond}), {.algorithm = &crossing, .count = 1000});
  EXPECT_EQ(got.time, 2 * picoseconds(4000 * nanosecond));
}

TEST(Simulate, RefusesPointToPoint) {
  const auto result = simulate(flat(2, {}), {.algorithm = find_algorithm(Collective::send, "direct"), .count = 1});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::invalid_argument);
}

// The verifier counts the same schedules in its own way.
TEST(Simulate, AgreesWithTheVerifierOnMessagesAndRounds) {
  for (const Algorithm& algorithm : catalog()) {
    if (algorithm.collective == Collective::send || algorithm.collective == Collective::recv || algorithm.encoded)
      continue;
    for (const Rank ranks : {2, 5, 8}) {
      const Network network = flat(ranks, {.latency = microsecond});
      const auto verified = verify(algorithm, ranks, 0, {.topology = network.topology()});
      ASSERT_TRUE(verified.ok()) << verified.status().message();
      const Simulation got = simulate_run(network, {.algorithm = &algorithm, .count = 40});
      const std::string name = fmt::format("{} {} on {}", algorithm.name, name_of(algorithm.collective), ranks);
      EXPECT_EQ(got.messages_max, verified->sends_max) << name;
      // Only latency takes time here. To the verifier, what a rank receives one after the other are rounds, too; a
      // message behind another one of its channel is not.
      const Picoseconds rounds = got.time / picoseconds(microsecond);
      EXPECT_LE(rounds, static_cast<Picoseconds>(verified->rounds) + 1) << name;
      EXPECT_GE(rounds, 1) << name;
    }
  }
}

// What the executor would hang on, or never deliver, is said and not timed.
TEST(Simulate, SchedulesThatDoNotFitTogetherAreToldApart) {
  const ScheduleFunction unheard = [](const Shape& shape, ScheduleBuilder& builder) {
    if (shape.rank == 0) builder.send(1, builder.input(0));
  };
  const ScheduleFunction waits = [](const Shape& shape, ScheduleBuilder& builder) {
    if (shape.rank == 0) builder.recv(1, builder.output(0));
  };
  for (const auto& [function, words] :
       {std::pair{unheard, "rank 0 sends to rank 1, which receives nothing"}, {waits, "rank 0 never ends"}}) {
    const Algorithm broken{.name = "broken",
                           .collective = Collective::broadcast,
                           .chunking = Chunking::one,
                           .function = function,
                           .summary = ""};
    const auto result = simulate(flat(2, {}), {.algorithm = &broken, .count = 1});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.status().code(), Code::internal);
    EXPECT_NE(result.status().message().find(words), std::string::npos) << result.status().message();
  }
}

TEST(Simulate, SaysWhatWouldNotFitIntoMemory) {
  const auto result =
      simulate(flat(2000, {}), {.algorithm = find_algorithm(Collective::allgather, "direct"), .count = 1});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::out_of_resources);
}

TEST(Simulate, SaysWhereThereWouldBeTooManyMessages) {
  SimulatedCall call = simulate_allreduce("ring", std::size_t{64} << 17);
  call.slice_bytes = 4;  // one element of each chunk
  call.every_rank = true;
  const auto result = simulate(flat(64, {}), call);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::out_of_resources);
  EXPECT_EQ(result.status().message(),
            "ring allreduce on 64 ranks sends more than 600 million messages in 131072 slices; take larger slices "
            "(hocket-plan: --slice-bytes, 0 for one), fewer bytes or fewer ranks");
}

TEST(Simulate, HundredsOfRanksShareOneProgram) {
  const Network network = flat(512, {.latency = microsecond, .wire_per_byte = nanosecond});
  const Simulation got = simulate_run(network, simulate_allreduce("ring", 512 * 16));
  EXPECT_EQ(got.messages, 512u * 2 * 511);
  EXPECT_EQ(got.time, 2 * 511 * (picoseconds(microsecond) + picoseconds(64 * nanosecond)));
}

}  // namespace
}  // namespace hocket
