// Ranks of builds that would choose or number differently refuse each other by name. The other builds are programs of
// tests/builds, each linked with one part of the library that is another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hocket/hocket.h"
#include "tests/process/program.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

// Runs a program as the rank that this process is.
Ran run_rank(const std::string& program) {
  return run_command("'" + program_path(program) + "'");
}

struct Other {
  const char* program;
  const char* says;
};
const Other others[] = {
    {"rank-of-other-protocol", "its protocol differs"},
    {"rank-of-other-catalog", "its catalog of algorithms differs"},
    {"rank-of-other-selection", "its selection tables differ"},
};

TEST(Builds, ThatAreAlikeMeet) {
  ProcessGroup group(3, [](Child& child) {
    const Ran ran = run_rank(child.index == 1 ? "rank-of-this-build-again" : "rank-of-this-build");
    EXPECT_EQ(ran.status, HOCKET_OK) << ran.out << ran.error;
    EXPECT_EQ(ran.out, "met\n");
  });
  group.expect_success();
}

class OtherBuilds : public testing::TestWithParam<int> {};

TEST_P(OtherBuilds, AreRefusedByNameOnAllRanks) {
  constexpr int stranger = 1;
  for (const Other& other : others) {
    for (const char* transport : {"auto", "tcp"}) {
      SCOPED_TRACE(std::string(other.program) + " over " + transport);
      ProcessGroup group(GetParam(), [&](Child& child) {
        ::setenv("HOCKET_TRANSPORT", transport, 1);
        const Ran ran = run_rank(child.index == stranger ? other.program : "rank-of-this-build");
        EXPECT_EQ(ran.status, HOCKET_MISMATCH) << ran.out << ran.error;
        EXPECT_THAT(ran.out, HasSubstr("is another build of Hocket than rank"));
        EXPECT_THAT(ran.out, HasSubstr(other.says));
        EXPECT_THAT(ran.out, HasSubstr("install the same Hocket on all ranks"));
        // Each rank names another one; the stranger is one of the two.
        EXPECT_THAT(ran.out, AnyOf(HasSubstr("rank 1 is another build of Hocket than rank "),
                                   HasSubstr(" is another build of Hocket than rank 1: ")));
      });
      group.expect_success();
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, OtherBuilds, testing::Values(2, 3, 5), testing::PrintToStringParamName());

}  // namespace
}  // namespace hocket::process_testing
