// Small data of ranks on several hosts goes over the windows of their hosts: which calls do, and how they fail. What
// they compute is tested in the suites of all collectives.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/last_call.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

constexpr const char* over_windows = "windows of hosts";

class HostWindows : public testing::TestWithParam<Ranks> {};

TEST_P(HostWindows, TakeSmallCallsAndLeaveLargeOnes) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    for (const Collective collective : {Collective::allreduce, Collective::reduce, Collective::broadcast}) {
      for (Rank root = 0; root < child.size; ++root) {
        Call({.collective = collective, .count = 1000, .root = info_of(collective).has_root() ? root : 0}, child.index,
             child.size)
            .run(comm.get());
        EXPECT_EQ(algorithm_of_last_call(), over_windows) << name_of(collective);
      }
      Call({.collective = collective, .count = 200'000}, child.index, child.size).run(comm.get());
      EXPECT_NE(algorithm_of_last_call(), over_windows) << name_of(collective);
    }
    expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);
    EXPECT_EQ(algorithm_of_last_call(), over_windows);
  });
}

// On one host, the window shows it; else the leaders do, or what ranks tell that wait.
TEST_P(HostWindows, AMismatchNamesBothCalls) {
  for (const bool over_links : {false, true}) {
    ProcessGroup group(GetParam(), [over_links](Child& child) {
      const Comm comm;
      ASSERT_TRUE(comm);
      child.say("made");
      EXPECT_EQ(child.hear(), "call");
      std::array<float, 64> in{}, out{};
      const bool other = child.index == child.size - 1;
      const hocket_result result =
          other && over_links ? hocket_allgather(in.data(), out.data(), 1, HOCKET_FLOAT32, comm.get(), nullptr, nullptr)
                              : hocket_allreduce(in.data(), out.data(), other ? 3 : 2, HOCKET_FLOAT32, HOCKET_SUM,
                                                 comm.get(), nullptr, nullptr);
      expect_result(result, HOCKET_MISMATCH);
      expect_message_names("allreduce of 2 float32");
      expect_message_names(over_links ? "allgather of 1 float32" : "allreduce of 3 float32");
    });
    group.hear_from_all("made");
    for (int index = 0; index < group.size(); ++index) group.tell(index, "call");
    group.expect_success();
  }
}

INSTANTIATE_TEST_SUITE_P(Of, HostWindows, testing::Values("0011", "00011", "0101", "0000111122223333"),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace hocket::process_testing
