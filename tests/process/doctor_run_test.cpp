// What hocket-doctor says of a job that hocket-run ended, since one of its ranks was killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/process/program.hpp"

namespace hocket {
namespace {

TEST(DoctorOfARun, SaysWhoWasKilled) {
  const TemporaryFolder folder;
  // Rank 1 is killed once rank 0 has begun to print its table.
  const Ran ran =
      run_command("export HOCKET_RECORD_DIR='" + folder.path().string() + "'\n" +
                  "$RUN -n 3 sh -c '"
                  "if [ $RANK = 1 ]; then (until grep -q size \"$1.0\"; do sleep 0.05; done; kill -9 $$) & fi\n"
                  "exec \"$0\" allreduce -b 4 -e 4 --seconds 100 > \"$1.$RANK\"' $BENCH '" +
                  folder.file("out") + "'");
  EXPECT_EQ(ran.status, 128 + 9) << ran.error;
  EXPECT_THAT(ran.error, testing::HasSubstr("rank 1 was killed by signal 9 (Killed); ending the other 2"));
  const Ran asked = run_command("'" + program_path("hocket-doctor") + "' --json '" + folder.path().string() + "'");
  const auto said = nlohmann::json::parse(asked.out, nullptr, false);
  ASSERT_TRUE(said.is_array() && said.size() == 1) << asked.out << asked.error;
  EXPECT_EQ(said[0]["kind"], "dead") << said;
  EXPECT_EQ(said[0]["rank"], 1) << said;
}

}  // namespace
}  // namespace hocket
