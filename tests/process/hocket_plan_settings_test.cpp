// What hocket-plan settings shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/process/plan_program.hpp"

namespace hocket {
namespace {

using testing::HasSubstr;

TEST(HocketPlanSettings, FindsMistakesInChoices) {
  ::setenv("HOCKET_ALGORITHM", "allreduce=rung", 1);
  ::setenv("HOCKET_TUNING", "/no/such/table", 1);
  const Ran wrong = plan_says("settings");
  ::unsetenv("HOCKET_ALGORITHM");
  ::unsetenv("HOCKET_TUNING");
  EXPECT_EQ(wrong.status, 1);
  EXPECT_THAT(wrong.out,
              HasSubstr("WRONG: HOCKET_ALGORITHM: \"rung\": allreduce has no algorithm \"rung\"; it has auto"));
  EXPECT_THAT(wrong.out, HasSubstr("WRONG: HOCKET_TUNING is \"/no/such/table\""));
}

TEST(HocketPlanSettings, ShowsTheSettingsInForce) {
  ::setenv("HOCKET_TCP_STREAMS", "4", 1);
  const Ran people = plan_says("settings");
  const Ran programs = plan_says("settings --json");
  ::setenv("HOCKET_TCP_STREAMS", "40", 1);
  const Ran wrong = plan_says("settings");
  ::unsetenv("HOCKET_TCP_STREAMS");
  EXPECT_EQ(people.status, 0) << people.out;
  EXPECT_THAT(people.out, testing::ContainsRegex("HOCKET_TCP_STREAMS +4 +environment +connections"));
  EXPECT_THAT(people.out, testing::ContainsRegex("HOCKET_TIMEOUT_MS +300000 +default"));
  EXPECT_THAT(people.out, HasSubstr("  shm, tcp, loopback\n"));
  EXPECT_THAT(people.out, testing::ContainsRegex("interface lo .*127.0.0.1"));
  EXPECT_EQ(programs.status, 0);
  EXPECT_THAT(programs.out, HasSubstr("\"name\": \"HOCKET_TCP_STREAMS\",\n      \"value\": \"4\""));
  EXPECT_THAT(programs.out, HasSubstr("\"net.core.wmem_max\""));
  EXPECT_EQ(wrong.status, 1);
  EXPECT_THAT(wrong.out, HasSubstr("WRONG: HOCKET_TCP_STREAMS is \"40\"; set it to auto or a number from 1 to 16."));
}

TEST(HocketPlanSettings, KeepsSecretsToItself) {
  ::setenv("HOCKET_SECRET", "hidden", 1);
  ::setenv("HOCKET_STORE", "redis://:hidden@node0:6379", 1);
  for (const char* how : {"settings", "settings --json"}) {
    const Ran shown = plan_says(how);
    EXPECT_THAT(shown.out, testing::Not(HasSubstr("hidden")));
    EXPECT_THAT(shown.out, HasSubstr("redis://…@node0:6379"));
  }
  ::unsetenv("HOCKET_SECRET");
  ::unsetenv("HOCKET_STORE");
}

TEST(HocketPlanSettings, SaysWhereEachSettingComesFrom) {
  const TemporaryFolder folder;
  const std::string table = folder.file("table");
  std::ofstream(table) << "tcp_streams=3\n";
  const std::string names =
      "unset RANK WORLD_SIZE OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE HOCKET_RANK HOCKET_WORLD_SIZE\n";
  const Ran ran =
      run_command(names + "PMI_RANK=1 PMI_SIZE=2 MASTER_ADDR=node0 MASTER_PORT=29500 HOCKET_JOB=mine HOCKET_TUNING='" +
                  table + "' $PLAN settings");
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_THAT(ran.out, testing::ContainsRegex("HOCKET_RANK +1 +launcher \\(PMI_RANK\\) "));
  EXPECT_THAT(ran.out,
              testing::ContainsRegex("HOCKET_STORE +tcp://node0:29500 +launcher \\(MASTER_ADDR, MASTER_PORT\\) "));
  EXPECT_THAT(ran.out, testing::ContainsRegex("HOCKET_JOB +mine +environment "));
  EXPECT_THAT(ran.out, testing::ContainsRegex("HOCKET_TCP_STREAMS +3 +file \\(" + table + "\\) "));
  EXPECT_THAT(ran.out, testing::ContainsRegex("HOCKET_TIMEOUT_MS +300000 +default "));
}

}  // namespace
}  // namespace hocket
