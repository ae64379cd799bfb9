// bench-children, bench-creation-parts and bench-message-rate as a person runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "tests/process/program.hpp"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Ran run_bench(const std::string& program, int ranks, const std::string& arguments) {
  return run_command("$RUN --no-label -n " + std::to_string(ranks) + " '" + program_path(program) + "' " + arguments);
}

TEST(BenchChildren, MeasuresChildrenOfBothSizesOnBothKindsOfLinks) {
  const Ran ran = run_bench("bench-children", 4, "2");
  ASSERT_EQ(ran.status, 0) << ran.error;
  std::istringstream table(ran.out);
  std::vector<std::string> lines;
  for (std::string line; std::getline(table, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 6u) << ran.out;
  EXPECT_THAT(lines[0], StartsWith("| ranks | of the child | links |"));
  std::vector<double> descriptors;
  for (const char* begins :
       {"| 4 | 4 | its own |", "| 4 | 4 | its parent's |", "| 4 | 2 | its own |", "| 4 | 2 | its parent's |"}) {
    const std::string& row = lines[2 + descriptors.size()];
    ASSERT_THAT(row, StartsWith(begins));
    char bar = 0;
    double creation_us = 0, opened = 0, small_us = 0, middling_us = 0;
    std::istringstream rest(row.substr(std::string(begins).size()));
    rest >> creation_us >> bar >> opened >> bar >> small_us >> bar >> middling_us >> bar;
    ASSERT_TRUE(rest) << row;
    EXPECT_GT(small_us, 0) << row;
    EXPECT_GT(middling_us, 0) << row;
    descriptors.push_back(opened);
  }
  EXPECT_GT(descriptors[0], 0);
  EXPECT_EQ(descriptors[1], 0);
  EXPECT_GT(descriptors[2], 0);
  EXPECT_EQ(descriptors[3], 0);
}

TEST(BenchChildren, RefusesWhatIsNoNumberOfChildren) {
  for (const char* arguments : {"0", "10001", "many", "2x", "2 3"}) {
    const Ran ran = run_bench("bench-children", 1, arguments);
    EXPECT_EQ(ran.status, 2) << arguments;
    EXPECT_THAT(ran.error, HasSubstr(std::string("from 1 to 10000, not '") + arguments + "'"));
  }
}

TEST(BenchCreationParts, MeasuresWhatTheSlowestRankTakes) {
  const Ran ran = run_bench("bench-creation-parts", 3, "1");
  ASSERT_EQ(ran.status, 0) << ran.error;
  double creation = 0, worst_creation = 0, destruction = 0, worst_destruction = 0;
  const std::string row = ran.out.substr(std::min(ran.out.size(), ran.out.find("| 3 |")));
  ASSERT_EQ(std::sscanf(row.c_str(), "| 3 | %lf / %lf | %lf / %lf |", &creation, &worst_creation, &destruction,
                        &worst_destruction),
            4)
      << ran.out;
  EXPECT_GT(creation, 0);
  EXPECT_GT(destruction, 0);
  EXPECT_EQ(creation, worst_creation) << "of one round";
  EXPECT_EQ(destruction, worst_destruction);
}

TEST(BenchMessageRate, CountsWhatAllPairsSend) {
  const Ran ran = run_bench("bench-message-rate", 4, "50");
  ASSERT_EQ(ran.status, 0) << ran.error;
  double rate = 0;
  const std::string row = ran.out.substr(std::min(ran.out.size(), ran.out.find("| 4 |")));
  ASSERT_EQ(std::sscanf(row.c_str(), "| 4 | 8 | 64 | %lf |", &rate), 1) << ran.out;
  EXPECT_GT(rate, 0);
}

TEST(BenchMessageRate, RefusesARankWithoutAPartner) {
  const Ran ran = run_bench("bench-message-rate", 3, "50");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.error, HasSubstr("start an even number of ranks"));
}

}  // namespace
}  // namespace hocket
