// Dumps for PyTorch's flight recorder analysis, which fails as a whole where it does not know a name or a group.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tools/doctor/export.hpp"

namespace hocket::doctor {
namespace {

using testing::HasSubstr;
using testing::Not;

Call call_of(const std::string& collective, std::uint32_t communicator = 0) {
  return {
      .communicator = communicator, .number = 1, .kind = "collective", .collective = collective, .text = collective};
}

std::string dump_of(Call call) {
  Record record{.rank = 3, .size = 4};
  record.communicators[0] = {.name = "all", .ranks = {}, .calls = 1};
  record.communicators[2] = {.name = "child", .ranks = {3, 1}, .calls = 1};
  record.calls = {std::move(call)};
  return pytorch_dump({.name = "all", .id = "1", .size = 4}, record);
}

TEST(DoctorForPyTorch, CallsCollectivesWhatTheAnalysisKnows) {
  EXPECT_THAT(dump_of(call_of("barrier")), HasSubstr("nccl:all_reduce"));
  EXPECT_THAT(dump_of(call_of("exscan")), HasSubstr("nccl:reduce"));
  EXPECT_THAT(dump_of(call_of("scan")), HasSubstr("nccl:reduce"));
  // Blocks may differ in size only there.
  for (const char* unequal : {"allgather_v", "reduce_scatter_v", "gather_v", "scatter_v", "alltoall_v"}) {
    EXPECT_THAT(dump_of(call_of(unequal)), HasSubstr("nccl:all_to_all")) << unequal;
  }
}

TEST(DoctorForPyTorch, LeavesOutCallsOfCommunicatorsThatAreGone) {
  EXPECT_THAT(dump_of(call_of("allreduce", 2)), HasSubstr("nccl:all_reduce"));
  EXPECT_THAT(dump_of(call_of("allreduce", 7)), Not(HasSubstr("nccl:all_reduce")));
}

TEST(DoctorForPyTorch, CountsTheEndsOfMessagesInTheirCommunicator) {
  Call send{.communicator = 2, .number = 1, .kind = "send", .text = "send", .peer = 1};
  EXPECT_THAT(dump_of(send), HasSubstr("nccl:send 1->0"));
  send.communicator = 0;
  EXPECT_THAT(dump_of(send), HasSubstr("nccl:send 3->1"));
  send.kind = "receive";
  EXPECT_THAT(dump_of(send), HasSubstr("nccl:recv 3<-1"));
}

}  // namespace
}  // namespace hocket::doctor
