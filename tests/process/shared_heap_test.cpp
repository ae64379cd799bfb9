// hocket-run --shared-heap: a program that knows nothing of it takes its memory from malloc, and its peers map that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/process/program.hpp"

namespace hocket {
namespace {

using testing::HasSubstr;

class SharedHeap : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(program_path("heap-program"))) GTEST_SKIP() << "this build has no shared heap";
  }
  // Both ranks, each below `limits` of the shell, end well and say that all was right.
  static Ran run(const std::string& what, const std::string& limits = "") {
    const Ran ran = run_command("\"$RUN\" -n 2 --no-label --shared-heap sh -c '" + limits + " exec \"$0\" " + what +
                                "' '" + program_path("heap-program") + "'");
    EXPECT_EQ(ran.status, 0) << ran.error;
    EXPECT_THAT(ran.out, HasSubstr("right"));
    return ran;
  }
};

TEST_F(SharedHeap, IsMappedByPeers) {
  EXPECT_THAT(run("sum").out, HasSubstr("own shared, peer's mapped"));
}

TEST_F(SharedHeap, IsOffAtFirst) {
  const Ran ran = run_command("\"$RUN\" -n 2 --no-label '" + program_path("heap-program") + "' sum");
  EXPECT_THAT(ran.out, HasSubstr("own plain, peer's not mapped"));
}

TEST_F(SharedHeap, OfAForkedChildIsItsOwn) {
  run("fork");
}

TEST_F(SharedHeap, ServesSeveralThreads) {
  run("threads");
}

TEST_F(SharedHeap, KeepsContentsWhereBlocksMove) {
  run("moves");
}

TEST_F(SharedHeap, WithoutDescriptorsIsPlainMemory) {
  EXPECT_THAT(run("sum", "ulimit -n 40;").out, HasSubstr("right"));
  run("threads", "ulimit -n 6;");
}

TEST_F(SharedHeap, WithoutRoomForFilesIsPlainMemory) {
  run("threads", "ulimit -f 1;");
  run("moves", "ulimit -f 1;");
}

TEST_F(SharedHeap, WithLittleAddressSpaceServesWhatItCan) {
  run("threads", "ulimit -v 1000000;");
}

}  // namespace
}  // namespace hocket
