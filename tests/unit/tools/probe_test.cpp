// What follows from a probe's samples.
#include "tools/plan/probe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/plan/direct/cost.hpp"

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Figure steady(double value) {
  return {.value = value, .spread = 0.02};
}

LinkFigures tcp() {
  return {.ping_pong = steady(6e-6),
          .one_core = steady(9e-6),
          .send = steady(3e-6),
          .receive = steady(1e-6),
          .send_per_byte = steady(1e-10),
          .receive_per_byte = steady(3e-10),
          .exchange_per_byte = steady(8e-10)};
}

TEST(ProbeFigures, AreMediansWithQuartiles) {
  const Figure figure = figure_of({9, 1, 5, 4, 6, 100, 3});  // 1 3 4 5 6 9 100
  EXPECT_DOUBLE_EQ(figure.value, 5);
  EXPECT_DOUBLE_EQ(figure.spread, (6 - 3) / 5.0);
  EXPECT_DOUBLE_EQ(figure_of({2}).value, 2);
  EXPECT_DOUBLE_EQ(figure_of({0, 0}).spread, 0);
}

TEST(ProbeFigures, AddUpToWhatWasMeasured) {
  const LinkCost cost = link_cost_of(tcp());
  EXPECT_DOUBLE_EQ(cost.send + cost.latency + cost.receive, 6e-6);
  EXPECT_DOUBLE_EQ(cost.send, 3e-6);
  EXPECT_DOUBLE_EQ(cost.send + cost.receive + cost.wake, 9e-6);
  EXPECT_DOUBLE_EQ(cost.send_per_byte, 2e-10);
  EXPECT_DOUBLE_EQ(cost.receive_per_byte, 6e-10);
  EXPECT_DOUBLE_EQ(cost.wire_per_byte, 0);
}

// Noise may make the parts larger than the whole.
TEST(ProbeFigures, NeverBecomeNegative) {
  LinkFigures noisy = tcp();
  noisy.ping_pong = steady(2e-6);
  noisy.one_core = steady(0);
  const LinkCost cost = link_cost_of(noisy);
  EXPECT_DOUBLE_EQ(cost.latency, 0);
  EXPECT_DOUBLE_EQ(cost.send + cost.receive, 2e-6);
  EXPECT_DOUBLE_EQ(cost.wake, 0);
}

TEST(ProbeFigures, TellOfLoad) {
  ProbeFigures figures{.tcp = tcp(), .shm = tcp(), .cores = 2};
  EXPECT_THAT(disturbed(figures), IsEmpty());
  figures.shm->ping_pong.spread = 0.9;
  EXPECT_THAT(disturbed(figures), ElementsAre(HasSubstr("shared memory, a message varied by 90 %")));
}

TEST(ProbeFigures, DescribeANetwork) {
  const NetworkDescription alone = description_of({.tcp = tcp(), .cores = 3});
  EXPECT_EQ(alone.cores_per_host, 3);
  EXPECT_DOUBLE_EQ(alone.local.latency, alone.link.latency);
}

// Pairs of ranks that the model knows all costs of, measured as a probe would.
TEST(ProbeFigures, AreSolvedForTheCostsThatGaveThem) {
  const DirectCost known{.call = 2e-7,
                         .line = 5e-8,
                         .flag = 1e-7,
                         .wake = 1e-6,
                         .copy_per_byte = 3e-11,
                         .reduce_per_byte = 6e-11,
                         .far_copy_per_byte = 9e-11,
                         .far_reduce_per_byte = 7e-11,
                         .cache_bytes = 2 << 20,
                         .read = 8e-7,
                         .read_per_byte = 4e-11};
  const auto network = Network::make({.kind = NetworkKind::hosts, .ranks = 2, .ranks_per_host = 2, .direct = known});
  ASSERT_TRUE(network.ok());
  const auto measured = [&](Collective collective, std::size_t bytes, DirectPath path) {
    return steady(
        expect_direct(*network, {.collective = collective, .count = bytes, .element_bytes = 1}, path)->seconds);
  };
  constexpr std::size_t near = DirectFigures::near_bytes, far = DirectFigures::far_bytes;
  DirectFigures figures{
      .small = steady(2e-7 + 2 * 5e-8 + 1e-7),
      .one_core = steady(2 * (2e-7 + 2 * 5e-8 + 1e-6)),
      .ahead = steady(2e-7),
      .behind = steady(2e-7 + 5e-8),
      .gather = measured(Collective::allgather, near, DirectPath::one_shot),
      .reduce = measured(Collective::allreduce, near, DirectPath::one_shot),
      .far_gather = measured(Collective::allgather, far, DirectPath::staged),
      .far_reduce = measured(Collective::allreduce, far, DirectPath::staged),
      .read = measured(Collective::allgather, near, DirectPath::single_copy),
      .long_read = measured(Collective::allgather, DirectFigures::read_bytes, DirectPath::single_copy),
      .cache_bytes = 2 << 20};
  const DirectCost cost = direct_cost_of(figures);
  EXPECT_NEAR(cost.call, known.call, 1e-12);
  EXPECT_NEAR(cost.line, known.line, 1e-12);
  EXPECT_NEAR(cost.flag, known.flag, 1e-12);
  EXPECT_NEAR(cost.wake, known.wake, 1e-12);
  EXPECT_NEAR(cost.copy_per_byte, known.copy_per_byte, 1e-15);
  EXPECT_NEAR(cost.reduce_per_byte, known.reduce_per_byte, 1e-15);
  EXPECT_NEAR(cost.far_copy_per_byte, known.far_copy_per_byte, 1e-15);
  EXPECT_NEAR(cost.far_reduce_per_byte, known.far_reduce_per_byte, 1e-15);
  EXPECT_NEAR(cost.read, known.read, 1e-12);
  EXPECT_NEAR(cost.read_per_byte, known.read_per_byte, 1e-15);
  EXPECT_TRUE(cost.reads_plain_memory);

  figures.read = {};
  figures.behind = steady(1);  // disturbed
  figures.far_gather = figures.far_reduce = steady(0);
  const DirectCost disturbed = direct_cost_of(figures);
  EXPECT_FALSE(disturbed.reads_plain_memory);
  EXPECT_DOUBLE_EQ(disturbed.call + 2 * disturbed.line + disturbed.flag, figures.small.value);
  EXPECT_GE(disturbed.flag, 0);
  EXPECT_DOUBLE_EQ(disturbed.far_copy_per_byte, 0);
  EXPECT_DOUBLE_EQ(disturbed.far_reduce_per_byte, 0);
}

TEST(ProbeFigures, TakeMoreConnectionsOnlyWhereThatIsFaster) {
  const auto chosen = [](std::vector<double> seconds) {
    std::vector<StreamsFigure> figures;
    for (std::size_t i = 0; i < seconds.size(); ++i) figures.push_back({1 << i, steady(seconds[i] * 1e-9)});
    return worthwhile(figures).streams;
  };
  EXPECT_EQ(chosen({8, 8, 8, 8}), 1);
  EXPECT_EQ(chosen({8, 7.5, 7.4, 9}), 1) << "a tenth is not worth a connection";
  EXPECT_EQ(chosen({40, 20, 10, 9.5}), 4);
  EXPECT_EQ(chosen({40, 20, 10, 5}), 8);
  EXPECT_EQ(chosen({5}), 1);
}

TEST(ProbeFigures, DescribeTheLinkWithTheConnectionsThatFillIt) {
  ProbeFigures figures{.tcp = tcp(), .between_hosts = true, .hosts = 2};
  EXPECT_EQ(description_of(figures).link.streams, 1);
  figures.streams = {{1, steady(8e-9)}, {2, steady(2e-9)}};
  const LinkCost cost = description_of(figures).link;
  EXPECT_EQ(cost.streams, 2);
  EXPECT_DOUBLE_EQ(cost.send_per_byte + cost.receive_per_byte, 2e-9);
}

}  // namespace
}  // namespace hocket
