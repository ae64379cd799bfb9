// How hocket-bench measures: what it does before operations that are timed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/process/program.hpp"

namespace hocket {
namespace {

using testing::HasSubstr;

// 4096 zeros, in which ranks meet.
class PacerFile {
 public:
  PacerFile() { std::ofstream(name()) << std::string(4096, '\0'); }
  std::string name() const { return folder_.file("pacer"); }
  std::uint32_t meetings() const {
    std::uint32_t words[17] = {};
    std::ifstream(name()).read(reinterpret_cast<char*>(words), sizeof words);
    return words[16];
  }

 private:
  TemporaryFolder folder_;
};

TEST(BenchMethod, WarmsUpForATime) {
  for (const char* transport : {"shm", "loopback"}) {
    for (const bool warms_up : {false, true}) {
      const PacerFile pacer;
      const Ran ran =
          run_command(std::string("$BENCH allgather --ranks 3 -b 64 -e 64 -n 4 -c 0 --placement out --fresh") +
                      " --json - --transport " + transport + " --pacer " + pacer.name() +
                      (warms_up ? " --warmup-seconds 0.2" : ""));
      EXPECT_EQ(ran.status, 0) << ran.error;
      EXPECT_EQ(nlohmann::json::parse(ran.out)["rows"][0]["iterations"], 4);
      if (warms_up) {
        EXPECT_GT(pacer.meetings(), 4U);
        EXPECT_THAT(ran.error, HasSubstr("4 operations for each size after 2 and 0.2 s to warm up"));
      } else {
        EXPECT_EQ(pacer.meetings(), 4U);
      }
    }
  }
}

TEST(BenchMethod, RanksMeetInAFileOfZerosBeforeFreshOperations) {
  const TemporaryFolder folder;
  const auto zeros = [&](const std::string& name, std::size_t bytes) {
    const std::string file = folder.file(name);
    std::ofstream(file) << std::string(bytes, '\0');
    return file;
  };
  for (const char* transport : {"shm", "loopback"}) {
    const PacerFile pacer;
    const Ran ran = run_command(std::string("$BENCH scatter --ranks 3 -n 20 -e 4K --fresh --transport ") + transport +
                                " --pacer " + pacer.name());
    EXPECT_EQ(ran.status, 0) << ran.error;
    EXPECT_GE(pacer.meetings(), 20U) << "all ranks have met in it before each operation";
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
