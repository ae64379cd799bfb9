// How hocket-bench measures: what it does before operations that are timed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/process/program.hpp"

namespace hocket {
namespace {

using testing::HasSubstr;

TEST(BenchMethod, WarmsUpForATime) {
  const auto begin = std::chrono::steady_clock::now();
  const Ran ran = run_command(
      "$BENCH allgather --ranks 3 --transport shm -b 64 -e 64 -n 4 --warmup-seconds 0.5 "
      "--placement out --fresh --json -");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_EQ(nlohmann::json::parse(ran.out)["rows"][0]["iterations"], 4);
  EXPECT_THAT(ran.error, HasSubstr("4 operations for each size after 2 and 0.5 s to warm up"));
}

TEST(BenchMethod, RanksMeetInAFileOfZerosBeforeFreshOperations) {
  const TemporaryFolder folder;
  const auto zeros = [&](const std::string& name, std::size_t bytes) {
    const std::string file = folder.file(name);
    std::ofstream(file) << std::string(bytes, '\0');
    return file;
  };
  for (const char* transport : {"shm", "loopback"}) {
    const std::string file = zeros(transport, 4096);
    const Ran ran = run_command(std::string("$BENCH scatter --ranks 3 -n 20 -e 4K --fresh --transport ") + transport +
                                " --pacer " + file);
    EXPECT_EQ(ran.status, 0) << ran.error;
    std::uint32_t meetings[17] = {};
    std::ifstream(file).read(reinterpret_cast<char*>(meetings), sizeof meetings);
    EXPECT_GE(meetings[16], 20U) << "all ranks have met in it before each operation";
  }
  const auto refusal = [&](const std::string& options) {
    const Ran ran = run_command("$BENCH scatter --ranks 2 --transport shm -n 2 " + options);
    EXPECT_NE(ran.status, 0) << options;
    return ran.error;
  };
  const std::string good = " --pacer " + zeros("good", 4096);
  EXPECT_THAT(refusal("--fresh --pacer " + zeros("short", 100)), HasSubstr("must be a file of 4096 zeros"));
  EXPECT_THAT(refusal("--fresh --pacer " + folder.file("none")), HasSubstr("must be a file of 4096 zeros"));
  EXPECT_THAT(refusal(good), HasSubstr("--pacer requires --fresh"));
  EXPECT_THAT(refusal("--fresh --best-fixed" + good), HasSubstr("--pacer is not for --best-fixed"));
  EXPECT_THAT(refusal("--fresh --kill 1@1" + good), HasSubstr("nor for --kill"));
}

}  // namespace
}  // namespace hocket
