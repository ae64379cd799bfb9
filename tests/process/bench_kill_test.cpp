// hocket-bench --kill: a rank dies in the middle of a benchmark, which goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/process/program.hpp"

namespace hocket {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json results_of(const std::string& arguments) {
  const Ran ran = run_command("$BENCH " + arguments + " --json -");
  EXPECT_EQ(ran.status, 0) << arguments << "\n" << ran.error;
  const json document = json::parse(ran.out, nullptr, false);
  if (document.is_discarded()) ADD_FAILURE() << "not JSON: " << ran.out;
  return document;
}

void expect_times(const json& kill, const char* name, std::size_t ranks) {
  const json& times = kill[name];
  ASSERT_EQ(times["ranks"].size(), ranks) << kill.dump();
  double worst = 0;
  for (const json& one : times["ranks"]) {
    EXPECT_GT(one.get<double>(), 0);
    worst = std::max(worst, one.get<double>());
  }
  EXPECT_EQ(times["worst"], worst);
  EXPECT_LE(times["median"].get<double>(), worst);
}

TEST(HocketBenchKill, EveryRankMayBeKilledAndTheOthersGoOn) {
  for (const std::string transport : {"shm", "tcp"}) {
    for (int rank = 0; rank < 4; ++rank) {
      SCOPED_TRACE(transport + ", rank " + std::to_string(rank));
      // The third of the operations in place of the first size.
      const json document = results_of("allreduce --ranks 4 -b 64 -e 1K -f 16 -n 5 --transport " + transport +
                                       " --kill " + std::to_string(rank) + "@8");
      const json& kill = document["kill"];
      EXPECT_EQ(kill["rank"], rank);
      EXPECT_EQ(kill["iteration"], 8);
      EXPECT_EQ(kill["during"], "allreduce 64 in place");
      EXPECT_EQ(kill["right"], true);
      for (const char* times : {"detection_us", "shrink_us", "recovery_us"}) expect_times(kill, times, 3);
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_GT(kill["recovery_us"]["ranks"][i].get<double>(),
                  kill["detection_us"]["ranks"][i].get<double>() + kill["shrink_us"]["ranks"][i].get<double>());
      }
      ASSERT_EQ(document["rows"].size(), 4U);
      for (const json& row : document["rows"]) {
        EXPECT_EQ(row["ranks"], 3);
        EXPECT_EQ(row["wrong"], 0);
      }
    }
  }
}

TEST(HocketBenchKill, RowsBeforeTheDeathStay) {
  const json document =
      results_of("broadcast --ranks 3 -b 64 -e 1K -f 16 -n 5 --placement out --transport tcp --kill 2@7 --fresh");
  ASSERT_EQ(document["rows"].size(), 2U);
  EXPECT_EQ(document["rows"][0]["ranks"], 3);
  EXPECT_EQ(document["rows"][1]["ranks"], 2);
  EXPECT_EQ(document["kill"]["during"], "broadcast 1K out of place");
}

TEST(HocketBenchKill, TellsAPersonInATable) {
  const Ran ran = run_command("$BENCH alltoall --ranks 3 -b 4K -e 4K -n 4 --kill 1@2");
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_THAT(ran.out, HasSubstr("# Rank 1 killed itself at operation 2, alltoall 4092 out of place; 2 ranks go on"));
  for (const char* line : {"# detection: death to failure of a call", "# shrink ", "# recovery: death to the first"}) {
    EXPECT_THAT(ran.out, HasSubstr(line));
  }
  EXPECT_THAT(ran.error, HasSubstr("hocket-bench: rank 1 was killed by signal 9 (Killed); going on with 2 ranks."));
}

TEST(HocketBenchKill, RunsBelowALauncherThatLetsItGoOn) {
  const Ran ran = run_command("$RUN --no-label --elastic 2:3 --restarts 0 $BENCH barrier -n 5 --kill 0@3");
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_THAT(ran.out, HasSubstr("# Rank 0 killed itself at operation 3"));
  const Ran replaced = run_command("$RUN --elastic 2:3 --restarts 1 $BENCH barrier -n 5 --kill 0@3");
  EXPECT_THAT(replaced.error, HasSubstr("A benchmark takes no newcomers in: start hocket-run with --restarts 0."));
}

TEST(HocketBenchKill, WrongUsageIsNamed) {
  const auto expect_refusal = [](const std::string& arguments, const std::string& sentence) {
    const Ran ran = run_command("$BENCH " + arguments);
    EXPECT_EQ(ran.status, 2) << arguments;
    EXPECT_THAT(ran.error, HasSubstr(sentence)) << arguments;
  };
  for (const char* wrong : {"1", "1@", "@2", "a@1", "1@0", "-1@3", "1@2x", "1:2"}) {
    expect_refusal("barrier --ranks 3 --kill=" + std::string(wrong), "write RANK@ITERATION");
  }
  expect_refusal("barrier --ranks 3 --kill ''", "--kill: a value is missing");
  expect_refusal("barrier --ranks 3 --kill 3@1", "--kill 3: ranks are 0 to 2.");
  expect_refusal("barrier --ranks 1 --kill 0@1", "barrier needs 1 at least");
  expect_refusal("sendrecv --ranks 2 --kill 1@1", "--kill leaves 1 rank, 0 to 0: sendrecv needs 2 at least.");
  expect_refusal("broadcast --ranks 3 -r 2 --kill 1@1", "broadcast needs its root -r 2 among them.");
  expect_refusal("broadcast --ranks 3 -r all --kill 1@1", "name one root with -r");
  expect_refusal("barrier --ranks 3 --transport loopback --kill 1@1", "threads cannot be killed");
  expect_refusal("barrier --ranks 3 --best-fixed --kill 1@1", "no such thing with --best-fixed");
  expect_refusal("barrier --ranks 3 -n 5 --kill 1@6", "nobody was killed, as only 5 operations were timed");
}

}  // namespace
}  // namespace hocket
