// Pinned memory and streams are kept for later calls, but not taken before their copies are done.
#include "src/exec/gpu/lanes.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/host_gpu.hpp"

namespace hocket {
namespace {

constexpr std::size_t lane_kib = 1024;
constexpr auto lane_patience = std::chrono::seconds(30);

class GpuLanesTest : public ::testing::Test {
 protected:
  std::unique_ptr<GpuLane> take(std::size_t bytes) {
    auto lane = lanes_->take(gpu_, bytes);
    EXPECT_TRUE(lane.ok()) << lane.status().message();
    return lane.ok() ? std::move(*lane) : nullptr;
  }
  // Copies that are done when the word is 1.
  void keep_busy(GpuLane& lane) {
    EXPECT_TRUE(gpu_.wait_until(lane.stream, word(), 1).ok());
    EXPECT_TRUE(gpu_.record(lane.stream, *lane.copied).ok());
  }
  GpuWord& word() { return *reinterpret_cast<GpuWord*>(memory_); }

  std::string refused_;
  testing_support::HostGpu gpu_{{.fault = [this](std::string_view function) {
    return function == refused_ ? Status(Code::out_of_resources, "refused") : Status();
  }}};
  std::unique_ptr<GpuLanes> lanes_ = std::make_unique<GpuLanes>();
  alignas(4096) std::byte memory_[4096] = {};
};

TEST_F(GpuLanesTest, AreUsedAgain) {
  auto lane = take(100 * lane_kib);
  const std::byte* const memory = lane->memory;
  EXPECT_GE(lane->bytes, 100 * lane_kib);
  lanes_->put_back(std::move(lane));
  lane = take(50 * lane_kib);
  EXPECT_EQ(lane->memory, memory);
  const auto other = take(lane_kib);
  EXPECT_NE(other->memory, memory) << "two calls at once have two";
  lanes_->put_back(std::move(lane));
}

TEST_F(GpuLanesTest, TheSmallestThatFitsIsTaken) {
  auto large = take(1000 * lane_kib), small = take(100 * lane_kib);
  const std::byte* const small_memory = small->memory;
  lanes_->put_back(std::move(small));
  lanes_->put_back(std::move(large));
  EXPECT_EQ(take(80 * lane_kib)->memory, small_memory);
}

TEST_F(GpuLanesTest, OneWhoseCopiesRunIsLeftAlone) {
  ASSERT_TRUE(gpu_.use_words(memory_, sizeof memory_).ok());
  auto lane = take(lane_kib);
  const std::byte* const memory = lane->memory;
  keep_busy(*lane);
  const GpuStream stream = lane->stream;
  lanes_->put_back(std::move(lane));
  EXPECT_NE(take(lane_kib)->memory, memory);
  word() = 1;
  ASSERT_TRUE(gpu_.finish(stream, Deadline::after(lane_patience)).ok());
  EXPECT_EQ(take(lane_kib)->memory, memory);
  ASSERT_TRUE(gpu_.forget_words(memory_).ok());
}

TEST_F(GpuLanesTest, OnlySomeAreKeptAndNoneAtTheEnd) {
  std::vector<std::unique_ptr<GpuLane>> many;
  for (int i = 0; i < 20; ++i) many.push_back(take(lane_kib));
  for (auto& lane : many) lanes_->put_back(std::move(lane));
  EXPECT_EQ(gpu_.held(), 2 * 8U) << "a stream and memory of each";
  lanes_.reset();
  EXPECT_EQ(gpu_.held(), 0U);
}

TEST_F(GpuLanesTest, WhatCannotBeHadLeavesNothingBehind) {
  for (const char* function : {"make_stream", "make_event", "allocate_host"}) {
    refused_ = function;
    EXPECT_EQ(lanes_->take(gpu_, lane_kib).status().code(), Code::out_of_resources) << function;
    EXPECT_EQ(gpu_.held(), 0U) << function;
  }
  refused_.clear();
  lanes_->put_back(take(lane_kib));
}

}  // namespace
}  // namespace hocket
