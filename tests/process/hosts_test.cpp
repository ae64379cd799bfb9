// Ranks on several hosts: which of them share memory. What they compute is tested in the suites of all collectives.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/process/support/call.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

class Hosts : public testing::TestWithParam<Ranks> {};

// Every rank has linked with every other. Whoever shares a host shares memory, and nobody else does: no link and no
// window crosses.
TEST_P(Hosts, ShareMemoryWithinAndNothingBetween) {
  ProcessGroup group(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    Call({.collective = Collective::alltoall, .count = 1000}, child.index, child.size).run(comm.get());
    std::string files;
    for (const std::string& file : shared_memory_files()) files += file + " ";
    child.say("files: " + files);
    EXPECT_EQ(child.hear(), "leave");
  });
  std::vector<std::set<std::string>> files;
  for (int index = 0; index < group.size(); ++index) {
    std::istringstream line(group.hear(index));
    std::string word;
    line >> word;
    EXPECT_EQ(word, "files:");
    files.emplace_back();
    while (line >> word) files.back().insert(word);
  }
  for (std::size_t a = 0; a < files.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      std::vector<std::string> common;
      std::ranges::set_intersection(files[a], files[b], std::back_inserter(common));
      const bool same_host = GetParam().hosts[a] == GetParam().hosts[b];
      EXPECT_EQ(!common.empty(), same_host) << "ranks " << a << " and " << b;
    }
  }
  for (int index = 0; index < group.size(); ++index) group.tell(index, "leave");
  group.expect_success();
}

INSTANTIATE_TEST_SUITE_P(Of, Hosts, testing::Values("00", "01", "0011", "01020"), testing::PrintToStringParamName());

}  // namespace
}  // namespace hocket::process_testing
