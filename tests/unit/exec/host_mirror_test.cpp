// A mirror says what has arrived in it, and copies back each byte of the output once, whatever left before.
#include "src/exec/gpu/host_mirror.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/host_gpu.hpp"

namespace hocket {
namespace {

constexpr std::size_t piece = HostMirror::piece_bytes;
constexpr auto patience = std::chrono::seconds(30);

class HostMirrorTest : public ::testing::Test {
 protected:
  ~HostMirrorTest() override {
    let_go(SIZE_MAX);
    EXPECT_TRUE(gpu_.finish(stream_, Deadline::after(patience)).ok());
    mirror_.reset();
  }
  void make(MirrorLayout layout) {
    auto call = GpuCall::make(gpu_, stream_);
    ASSERT_TRUE(call.ok() && call->mark().ok());
    call_ = std::make_unique<GpuCall>(std::move(*call));
    auto mirror = HostMirror::make(lanes_, *call_, std::move(layout));
    ASSERT_TRUE(mirror.ok()) << mirror.status().message();
    mirror_ = std::move(*mirror);
  }
  // So many copies are made; the others are held back.
  void let_go(std::size_t copies) {
    allowed_ = copies;
    allowed_.notify_all();
  }
  void expect_arrived(std::uint32_t pieces) {
    const Deadline deadline = Deadline::after(patience);
    while (mirror_->fill().ok() && mirror_->arrived() < pieces && !deadline.passed()) std::this_thread::yield();
    EXPECT_EQ(mirror_->arrived(), pieces);
  }
  void fill() {
    let_go(SIZE_MAX);
    const Deadline deadline = Deadline::after(patience);
    auto filled = mirror_->fill();
    while (filled.ok() && !*filled && !deadline.passed()) filled = mirror_->fill();
    EXPECT_TRUE(filled.ok() && *filled);
  }
  bool has(std::size_t at, std::size_t bytes) const { return mirror_->has_arrived(mirror_->memory() + at, bytes); }
  void may_leave(std::size_t at, std::size_t bytes) { mirror_->may_leave(mirror_->memory() + at, bytes); }

  std::atomic<std::size_t> allowed_{0}, made_{0};
  testing_support::HostGpu gpu_{{.before_copy = [this](auto&&...) {
    const std::size_t number = made_++;
    for (std::size_t allowed = allowed_; number >= allowed; allowed = allowed_) allowed_.wait(allowed);
  }}};
  const GpuStream stream_ = *gpu_.make_stream();
  const std::shared_ptr<GpuLanes> lanes_ = std::make_shared<GpuLanes>();
  std::unique_ptr<GpuCall> call_;
  std::unique_ptr<HostMirror> mirror_;
};

TEST_F(HostMirrorTest, SaysWhichBytesHaveArrived) {
  std::byte* const data = *gpu_.allocate(3 * piece);
  MirrorLayout layout{.bytes = 4 * piece};
  layout.take(data, 3 * piece, 100, true);
  make(std::move(layout));
  EXPECT_TRUE(mirror_->in_pieces());
  EXPECT_FALSE(*mirror_->fill());
  EXPECT_EQ(mirror_->arrived(), 0U);
  EXPECT_TRUE(has(0, 100)) << "nothing comes there";
  EXPECT_FALSE(has(0, 101));
  let_go(1);
  expect_arrived(1);
  EXPECT_TRUE(has(0, 100 + piece));
  EXPECT_FALSE(has(99 + piece, 2));
  EXPECT_FALSE(has(0, 4 * piece));
  EXPECT_TRUE(has(100 + 3 * piece, 10)) << "behind all that comes";
  const std::byte elsewhere{};
  EXPECT_TRUE(mirror_->has_arrived(&elsewhere, 1));
  fill();
  EXPECT_TRUE(has(0, 4 * piece));
  EXPECT_TRUE(mirror_->give_back().ok());
  EXPECT_TRUE(gpu_.free(data).ok());
}

// Blocks of an input may overlap, and stand in any order.
TEST_F(HostMirrorTest, WhatOverlapsIsOne) {
  std::byte* const data = *gpu_.allocate(3 * piece);
  MirrorLayout layout{.bytes = 3 * piece};
  layout.take(data + piece, piece, piece, true);
  layout.take(data, 3 * piece, 0, true);
  layout.take(data + piece + 5, 10, piece + 5, true);
  make(std::move(layout));
  EXPECT_FALSE(*mirror_->fill());
  let_go(1);
  expect_arrived(1);
  EXPECT_TRUE(has(0, piece));
  EXPECT_FALSE(has(piece + 20, 1));
  EXPECT_FALSE(has(3 * piece - 1, 1));
  fill();
  EXPECT_EQ(made_, 3U);
  EXPECT_TRUE(mirror_->give_back().ok());
  EXPECT_TRUE(gpu_.free(data).ok());
}

TEST_F(HostMirrorTest, CopiesEachByteBackOnce) {
  const std::size_t bytes = 3 * piece;
  std::byte* const data = *gpu_.allocate(bytes);
  std::vector<std::byte> on_host(10);
  MirrorLayout layout{.bytes = 100 + bytes + 20};
  layout.give(data + piece, bytes - piece, 110 + piece, true);  // ten bytes between this and the next stay as they are
  layout.give(data, piece - 10, 100, true);
  layout.give(on_host.data(), 10, 110 + bytes, false);
  make(std::move(layout));
  fill();
  std::vector<std::byte> expected(bytes);
  for (std::size_t i = 0; i < bytes + 120; ++i) mirror_->memory()[i] = static_cast<std::byte>(i % 251);
  may_leave(110 + 2 * piece, 1000);
  EXPECT_EQ(made_, 0U) << "too little for a copy";
  may_leave(110 + piece, piece);
  may_leave(100, 500);
  ASSERT_TRUE(mirror_->failure().ok());
  ASSERT_TRUE(mirror_->give_back().ok());
  ASSERT_TRUE(gpu_.finish(stream_, Deadline::after(patience)).ok());
  EXPECT_EQ(made_, 4U) << "two pieces early, then what lies before them and behind";
  std::memcpy(expected.data(), mirror_->memory() + 100, piece - 10);
  std::memcpy(expected.data() + piece, mirror_->memory() + 110 + piece, bytes - piece);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), gpu_.touched(data)));
  EXPECT_EQ(std::memcmp(on_host.data(), mirror_->memory() + 110 + bytes, 10), 0);
  EXPECT_TRUE(gpu_.free(data).ok());
}

}  // namespace
}  // namespace hocket
