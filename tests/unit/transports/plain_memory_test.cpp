// Reading other processes' memory: real processes, one of them dead.
#include "transports/shm/plain_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <span>
#include <vector>

namespace hocket::shm {
namespace {

// Memory that this process and its children share, and a child that shows its info there and waits for its end.
class PlainMemoryTest : public testing::Test {
 protected:
  struct Shared {
    PlainMemoryInfo info;
    std::atomic<std::uint64_t> data_at{0};
    std::atomic<bool> ready{false};
  };

  void SetUp() override {
    void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    shared_ = new (memory) Shared;
    child_ = ::fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      const PlainMemoryOwner owner;
      const std::vector<char> data(100'000, 'x');
      owner.show(shared_->info, true);
      shared_->data_at = reinterpret_cast<std::uintptr_t>(data.data());
      shared_->ready = true;
      for (;;) ::pause();
    }
    while (!shared_->ready) ::usleep(100);
  }
  void TearDown() override {
    end_child();
    ::munmap(shared_, sizeof(Shared));
  }
  void end_child() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = -1;
  }

  Shared* shared_ = nullptr;
  pid_t child_ = -1;
  PlainMemory memory_;
};

TEST_F(PlainMemoryTest, IsReadFromAnotherProcess) {
  if (!memory_.probe(shared_->info)) GTEST_SKIP() << "this user may not read other processes' memory here";
  std::vector<std::byte> got(100'000);
  ASSERT_TRUE(memory_.read(shared_->data_at, got.data(), got.size()).ok());
  EXPECT_EQ(got, std::vector<std::byte>(100'000, std::byte{'x'}));
}

TEST_F(PlainMemoryTest, HowFastItIsReadIsFoundOutOnce) {
  const PlainReads reads = measured_plain_reads();
  EXPECT_GT(reads.read, 0);
  EXPECT_EQ(reads.copy > 0, may_read_plain_memory());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(measured_plain_reads().read, reads.read);
  PlainMemoryInfo asked, not_asked;
  const PlainMemoryOwner owner;
  owner.show(asked, true);
  owner.show(not_asked, false);
  EXPECT_EQ(asked.read, reads.read);
  EXPECT_EQ(asked.copy, reads.copy);
  EXPECT_EQ(not_asked.read, 0);
}

TEST_F(PlainMemoryTest, WithoutTheSecretItIsAnotherProcess) {
  shared_->info.secret = shared_->info.secret ^ 1;
  EXPECT_FALSE(memory_.probe(shared_->info));
}

TEST_F(PlainMemoryTest, NothingThereIsAnError) {
  if (!memory_.probe(shared_->info)) GTEST_SKIP() << "this user may not read other processes' memory here";
  std::byte got[64];
  const Status status = memory_.read(64, got, sizeof got);
  EXPECT_EQ(status.code(), Code::invalid_argument) << status.message();
}

TEST_F(PlainMemoryTest, ADeadProcessIsLost) {
  if (!memory_.probe(shared_->info)) GTEST_SKIP() << "this user may not read other processes' memory here";
  end_child();
  std::byte got[64];
  EXPECT_EQ(memory_.read(shared_->data_at, got, sizeof got).code(), Code::peer_lost);
  EXPECT_FALSE(memory_.probe(shared_->info));
}

// Memory that a process has, but does not let the kernel read, stands for memory of devices.
TEST(PlainMemoryOf, ThisProcessIsLookedAtAtBothEnds) {
  constexpr std::size_t bytes = 1 << 16;
  void* const mapped = ::mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* const memory = static_cast<std::byte*>(mapped);
  if (!kernel_reads({memory, 1})) GTEST_SKIP() << "a process may not read even its own memory here";
  EXPECT_TRUE(kernel_reads({memory, 2 * bytes}));
  ASSERT_EQ(::mprotect(memory + bytes, bytes, PROT_NONE), 0);
  EXPECT_TRUE(kernel_reads({memory, bytes}));
  EXPECT_FALSE(kernel_reads({memory + bytes - 1, 2}));
  EXPECT_FALSE(kernel_reads({memory + bytes, 1}));
  ::munmap(mapped, 2 * bytes);
}

// The answer is kept for a moment, and no longer.
TEST(PlainMemoryOf, ThisProcessIsLookedAtAgainBehindAMoment) {
  constexpr std::size_t bytes = 1 << 16;
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const std::span memory(static_cast<std::byte*>(mapped), bytes);
  if (!kernel_reads(memory)) GTEST_SKIP() << "a process may not read even its own memory here";
  const ReadableMemory::Time now{std::chrono::hours(1)};
  ReadableMemory readable;
  EXPECT_TRUE(readable.holds(memory, now));
  ASSERT_EQ(::mprotect(mapped, bytes, PROT_NONE), 0);
  const auto later = now + ReadableMemory::moment;
  EXPECT_TRUE(readable.holds(memory, later - std::chrono::nanoseconds(1)));
  EXPECT_FALSE(readable.holds(memory.first(bytes / 2), now)) << "of other bytes nothing is known";
  EXPECT_FALSE(readable.holds(memory, later));
  ::munmap(mapped, bytes);
}

}  // namespace
}  // namespace hocket::shm
