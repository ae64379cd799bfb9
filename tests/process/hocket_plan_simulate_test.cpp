// hocket-plan cost and simulate as a person runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "plan_program.hpp"

namespace hocket {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

TEST(HocketPlanSimulate, CountsTheStepsOfTheRing) {
  const auto ring = hocket_plan("simulate allreduce --algorithm ring --ranks 8 --slice-bytes 0");
  EXPECT_EQ(ring.status, 0) << ring.error;
  EXPECT_THAT(ring.out, HasSubstr("112 messages (14 of the busiest rank)"));
  EXPECT_THAT(ring.out, HasSubstr("14680064 bytes sent (1835008 by the busiest rank)"));  // 2 · 7/8 · 1 MiB
  EXPECT_THAT(ring.out, HasSubstr("the end waited for rank"));
}

TEST(HocketPlanSimulate, RunsCallsInARow) {
  const auto row = hocket_plan("simulate broadcast --algorithm chain --ranks 5 --bytes 4K --calls 10");
  EXPECT_EQ(row.status, 0) << row.error;
  EXPECT_THAT(row.out, ContainsRegex("chain: [0-9.]+ us, 10 calls in a row, [0-9.]+ us each"));
  EXPECT_THAT(row.out, HasSubstr("40 messages (10 of the busiest rank)"));
  EXPECT_THAT(hocket_plan("simulate broadcast --ranks 5 --calls 0").error, HasSubstr("--calls"));
}

TEST(HocketPlanSimulate, ComparesFormulaAndSimulation) {
  const auto costs = hocket_plan("cost allreduce --ranks 4 --bytes 64K --slice-bytes 0");
  EXPECT_EQ(costs.status, 0) << costs.error;
  EXPECT_THAT(costs.out, ContainsRegex("ring +6 +98304 +49152 +([0-9.]+) +[0-9.]+"));
  EXPECT_THAT(costs.out, ContainsRegex("two_shot +- +- +- +- +[0-9.]+"));
  EXPECT_THAT(costs.out, Not(HasSubstr("direct")));
  const auto host = hocket_plan("cost allreduce --topology 1x4 --bytes 64K");
  EXPECT_THAT(host.out, ContainsRegex("direct staged +3 +114688 +49152 +[0-9.]+ +[0-9.]+ +[0-9.]+\n"));
  EXPECT_THAT(host.out, ContainsRegex("direct mapped +2 .* registered buffers\n"));
  EXPECT_THAT(host.out, HasSubstr("Ranks that share memory run direct staged; "));
}

TEST(HocketPlanSimulate, DrawsTimelines) {
  const TemporaryFolder folder;
  const std::string trace = folder.file("run.json"), drawing = folder.file("run.svg");
  const auto run =
      hocket_plan("simulate allreduce --algorithm ring --topology 2x2 --trace '" + trace + "' --svg '" + drawing + "'");
  EXPECT_EQ(run.status, 0) << run.error;
  EXPECT_THAT(run.out, HasSubstr("critical path"));
  const auto events = nlohmann::json::parse(contents(trace))["traceEvents"];
  std::size_t parts = 0, critical = 0;
  for (const auto& event : events) {
    if (event["ph"] != "X") continue;
    ++parts;
    critical += event["args"]["critical"] == true;
  }
  EXPECT_EQ(parts, 4u * 6 * 3);  // each message is sent, on the way and received
  EXPECT_GT(critical, 0u);
  const std::string svg = contents(drawing);
  EXPECT_THAT(svg, testing::StartsWith("<svg"));
  EXPECT_THAT(svg, HasSubstr("rank 3"));
  EXPECT_THAT(svg, ContainsRegex("class=\"title\">ring allreduce of 1048576 bytes on 4 ranks: [0-9.]+ us</text>"));
  EXPECT_THAT(svg, HasSubstr("time in microseconds"));
}

// Many messages are on their way from one rank at once.
TEST(HocketPlanSimulate, NoTrackHasPartsThatOverlap) {
  const TemporaryFolder folder;
  const std::string trace = folder.file("run.json");
  const auto run =
      hocket_plan("simulate allreduce --algorithm double_tree --ranks 16 --bytes 64K --trace '" + trace + "'");
  ASSERT_EQ(run.status, 0) << run.error;
  const auto picoseconds = [](const nlohmann::json& us) { return std::llround(us.get<double>() * 1e6); };
  std::map<int, std::vector<std::pair<long long, long long>>> tracks;
  std::set<int> named;
  std::size_t lanes = 0;
  const auto written = nlohmann::json::parse(contents(trace));
  for (const auto& event : written["traceEvents"]) {
    if (event["ph"] == "X") {
      const long long begin = picoseconds(event["ts"]);
      tracks[event["tid"]].push_back({begin, begin + picoseconds(event["dur"])});
    } else if (event["name"] == "thread_name") {
      EXPECT_TRUE(named.insert(event["tid"].get<int>()).second);
      lanes += event["args"]["name"] == "rank 1, on the way";
    }
  }
  EXPECT_GT(lanes, 1u) << "nothing could have overlapped";
  for (auto& [track, parts] : tracks) {
    EXPECT_EQ(named.count(track), 1u);
    std::ranges::sort(parts);
    for (std::size_t i = 1; i < parts.size(); ++i) EXPECT_LE(parts[i - 1].second, parts[i].first) << "track " << track;
  }
}

TEST(HocketPlanSimulate, DrawsTheCriticalPathOfManyRanks) {
  const TemporaryFolder folder;
  const std::string trace = folder.file("run.json"), drawing = folder.file("run.svg");
  const auto chain = [&](const std::string& collective) {
    return hocket_plan("simulate " + collective + " --ranks 300 --bytes 4K --trace '" + trace + "' --svg '" + drawing +
                       "'");
  };
  const auto whole = chain("broadcast --algorithm chain");  // comes by all ranks, in their order
  ASSERT_EQ(whole.status, 0) << whole.error;
  EXPECT_THAT(whole.out, HasSubstr("drawn: 256 of 300 ranks, of those that the critical path visits"));
  EXPECT_THAT(contents(drawing),
              testing::AllOf(HasSubstr(">rank 5<"), Not(HasSubstr(">rank 6<")), HasSubstr(">rank 298<")));
  const auto tree = chain("broadcast --algorithm binomial_tree");
  EXPECT_THAT(tree.out, ContainsRegex("drawn: [0-9] of 300 ranks"));
  std::size_t critical = 0;
  const auto written = nlohmann::json::parse(contents(trace));
  for (const auto& event : written["traceEvents"]) {
    critical += event["ph"] == "X" && event["args"]["critical"] == true;
  }
  EXPECT_THAT(tree.out, HasSubstr("critical path, " + std::to_string(critical) + " parts"));
}

// Of 100,000 ranks one is simulated, and drawings stay small.
TEST(HocketPlanSimulate, DrawsTheCriticalPathOfAHundredThousandRanks) {
  const TemporaryFolder folder;
  const std::string trace = folder.file("run.json"), drawing = folder.file("run.svg");
  const auto run = hocket_plan("simulate allreduce --algorithm ring --ranks 100000 --bytes 1200000 --trace '" + trace +
                               "' --svg '" + drawing + "'");
  ASSERT_EQ(run.status, 0) << run.error;
  EXPECT_THAT(run.out, HasSubstr("19999800000 messages (199998 of the busiest rank)"));
  EXPECT_THAT(run.out, HasSubstr("critical path, 599994 parts:"));
  EXPECT_THAT(run.out, HasSubstr(", 1 of 100000 ranks, which stand for all"));
  EXPECT_THAT(run.out, HasSubstr("drawn: 256 of 100000 ranks, of those that the critical path visits"));
  EXPECT_THAT(run.out, HasSubstr("drawn: of these ranks only the critical path"));
  EXPECT_LT(contents(drawing).size(), std::size_t{4} << 20);
  EXPECT_LT(contents(trace).size(), std::size_t{4} << 20);
  EXPECT_THAT(contents(drawing),
              testing::AllOf(ContainsRegex(">rank [0-9]<"), ContainsRegex(">rank 99[0-9][0-9][0-9]<")));
}

TEST(HocketPlanSimulate, SimulatesWhatRanksOfOneHostRun) {
  const auto all = hocket_plan("simulate allreduce --topology 1x4 --bytes 64K");
  EXPECT_EQ(all.status, 0) << all.error;
  EXPECT_THAT(all.out, ContainsRegex("direct staged: [0-9.]+ us\n"));
  EXPECT_THAT(all.out, ContainsRegex("direct mapped, registered buffers: [0-9.]+ us\n"));
  EXPECT_THAT(all.out, ContainsRegex("ring: [0-9.]+ us\n"));
  const TemporaryFolder folder;
  const std::string drawing = folder.file("run.svg");
  const auto drawn = hocket_plan(
      "simulate allreduce --direct --registered --topology 1x4 --bytes 64K --calls 3 --svg '" + drawing + "'");
  EXPECT_EQ(drawn.status, 0) << drawn.error;
  EXPECT_THAT(drawn.out, ContainsRegex("direct mapped, registered buffers: [0-9.]+ us, 3 calls in a row"));
  EXPECT_THAT(drawn.out, HasSubstr("critical path"));
  EXPECT_THAT(drawn.out, Not(HasSubstr("ring")));
  EXPECT_THAT(contents(drawing), HasSubstr(">rank 3<"));
  EXPECT_THAT(hocket_plan("simulate allreduce --direct --topology 2x4").error,
              HasSubstr("--direct: no direct path runs here: "));
}

void expect_usage_error(const std::string& arguments) {
  const auto outcome = hocket_plan(arguments);
  EXPECT_EQ(outcome.status, 2) << arguments << "\n" << outcome.error;
  EXPECT_THAT(outcome.error, testing::StartsWith("hocket-plan: ")) << arguments;
}

TEST(HocketPlanSimulate, MistakesAreUsageErrors) {
  for (const char* arguments :
       {"simulate allreduce", "simulate send --ranks 2", "simulate allreduce --topology nothing.json --ranks 2",
        "simulate allreduce --ranks 4 --trace x.json", "cost allreduce --topology 2x", "cost nothing --ranks 2",
        "simulate broadcast --ranks 4 --root 4", "simulate allreduce --ranks 1048577",
        "compare --topology 1x2 --bytes ''", "probe --save ''"}) {
    expect_usage_error(arguments);
  }
}

// These write the schedules of many ranks before they find out.
TEST(HocketPlanSimulate, RefusesToSimulateMoreThanMemoryHolds) {
  expect_usage_error("simulate allgather --ranks 1500 --algorithm direct");
}

TEST(HocketPlanSimulate, RefusesTheCostOfMoreThanMemoryHolds) {
  expect_usage_error("cost allgather --ranks 1500 --algorithm direct");
}

}  // namespace
}  // namespace hocket
