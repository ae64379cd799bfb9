// What hocket-bench refuses, and what it says when communication fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>

#include "src/spi/types.hpp"
#include "tests/process/program.hpp"

namespace hocket {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(HocketBench, RefusesWrongUsage) {
  const auto expect_failure = [](const std::string& arguments, const std::string& sentence) {
    const Ran ran = run_command("unset RANK WORLD_SIZE HOCKET_RANK HOCKET_WORLD_SIZE; $BENCH " + arguments);
    EXPECT_EQ(ran.status, 2) << arguments;
    EXPECT_THAT(ran.error, HasSubstr(sentence)) << arguments;
    return ran;
  };
  // Before anything is printed or started.
  const auto expect_refusal = [&](const std::string& arguments, const std::string& sentence) {
    const Ran ran = expect_failure(arguments, sentence);
    EXPECT_THAT(ran.error, StartsWith("hocket-bench: ")) << arguments;
    EXPECT_EQ(std::ranges::count(ran.error, '\n'), 1) << ran.error;
    EXPECT_THAT(ran.out, IsEmpty()) << arguments;
  };
  expect_refusal("", "collective is required");
  expect_refusal("allrecude", "Unknown collective 'allrecude'. Choose one of: allreduce, reduce, ");
  expect_refusal("allreduce --colour red", "--colour");
  expect_refusal("allreduce -b 4Q", "'4Q' is not a size");
  expect_refusal("allreduce -e -5", "-5");
  expect_refusal("allreduce -b 8M -e 1M", "The smallest size -b 8M is larger than the largest size -e 1M.");
  expect_refusal("allreduce -e 99999999T", "too large");
  expect_refusal("allreduce -f 1", "not in range 2");
  expect_refusal("allreduce -d half", "Unknown type 'half'. Choose from: float32, float64, int32, int64, uint8, ");
  expect_refusal("allreduce -o average", "Unknown operation 'average'. Choose from: sum, prod, min, max, ");
  expect_refusal("allreduce -n 3 --seconds 1", "excludes");
  for (const char* seconds : {"nan", "inf", "-1", "1e400", "some"}) {
    expect_refusal("allreduce --ranks 2 --seconds " + std::string(seconds),
                   "--seconds: '" + std::string(seconds) + "' is not a number from 0 to 86400");
  }
  expect_refusal("allreduce --ranks 2 --warmup-seconds -1", "--warmup-seconds: '-1' is not a number from 0 to 3600");
  expect_refusal("allreduce --transport pigeon", "pigeon");
  expect_refusal("allreduce --memory pinned", "--memory");
  expect_refusal("allreduce --transport loopback", "say how many with --ranks N");
  expect_refusal("alltoall --ranks 2 --wire int8",
                 "--wire int8 is not for alltoall of float32, but for allreduce, reduce_scatter, allgather, "
                 "reduce_scatter_v, allgather_v of float32, with sum where they reduce.");
  expect_refusal("allreduce --ranks 2 --wire int8 -d float32,int32", "is not for allreduce of int32 with sum, but");
  expect_refusal("allreduce --ranks 2 --wire bfloat16 -o max", "is not for allreduce of float32 with max, but");
  for (const std::string group : {"recv_any", "group"}) {
    expect_refusal(group + " --ranks 2 --persistent", "--persistent is not for " + group + ": it is a group of calls");
  }
  expect_refusal("sendrecv --placement in --ranks 2", "sendrecv has no in-place form");
  expect_refusal("broadcast --ranks 2 -r 2", "The root -r 2 is not a rank: ranks are 0 to 1");
  expect_refusal("broadcast --ranks 2 -r first", "must be a rank or 'all', not 'first'");
  expect_refusal("sendrecv --ranks 1", "sendrecv needs at least 2 ranks.");
  expect_refusal("allreduce --ranks 0", "not in range 1");
  expect_refusal("allreduce", "No ranks: let --ranks N start them here, or start them with hocket-run or another ");
  expect_failure("allreduce --ranks 2 --algorithm magic", "magic");
  expect_failure("allreduce --ranks 2 --transport loopback -n 1 -e 4 --json /no/such/folder/x",
                 "Cannot write '/no/such/folder/x': No such file or directory.");
  expect_refusal("allreduce --json - --csv - --ranks 2", "cannot both write to standard output");
}

TEST(HocketBench, ReportsWhatTheLibrarySaysWhenCommunicationFails) {
  // Nobody listens on port 1.
  const Ran ran =
      run_command("HOCKET_STORE=tcp://127.0.0.1:1 HOCKET_TIMEOUT_MS=500 RANK=0 WORLD_SIZE=2 $BENCH allreduce -n 1");
  EXPECT_EQ(ran.status, 3);
  EXPECT_THAT(ran.error, HasSubstr("127.0.0.1:1"));
}

}  // namespace
}  // namespace hocket
