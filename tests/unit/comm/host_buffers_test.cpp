#include "src/comm/host_buffers.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hocket::comm {
namespace {

// Counts who asks.
class CountingGpus final : public Gpus {
 public:
  Result<Gpu*> gpu_at(const void* data) override {
    ++asked;
    if (fails) return Status(Code::unsupported, "device memory");
    if (has_driver) seen_.store(true);
    return data == device_memory ? gpu : nullptr;
  }

  int asked = 0;
  bool has_driver = false, fails = false;
  const void* device_memory = nullptr;
  Gpu* gpu = nullptr;
};

TEST(HostBuffers, AskSeldomForABufferThatIsKnown) {
  CountingGpus gpus;
  HostBuffers buffers(&gpus);
  std::vector<char> memory(std::size_t{200} * 64);
  for (int round = 0; round < 3; ++round) {
    for (std::size_t at = 0; at < memory.size(); at += 64) EXPECT_TRUE(buffers.hold(&memory[at]));
  }
  EXPECT_GE(gpus.asked, 200);
  EXPECT_LE(gpus.asked, 203);
}

TEST(HostBuffers, NoticeADriverThatComesLater) {
  CountingGpus gpus;
  HostBuffers buffers(&gpus);
  const char data = 0;
  EXPECT_TRUE(buffers.hold(&data));
  gpus.has_driver = true;
  for (int call = 0; call < 300; ++call) EXPECT_TRUE(buffers.hold(&data));
  EXPECT_TRUE(gpus.seen());
}

TEST(HostBuffers, AskAlwaysWhereADriverHandsOutMemory) {
  CountingGpus gpus;
  HostBuffers buffers(&gpus);
  const char data = 0;
  EXPECT_TRUE(buffers.hold(&data));
  gpus.has_driver = true;
  const char other = 0;
  EXPECT_TRUE(buffers.hold(&other));  // which sees the driver
  const int before = gpus.asked;
  EXPECT_TRUE(buffers.hold(&data));
  EXPECT_TRUE(buffers.hold(&data));
  EXPECT_EQ(gpus.asked, before + 2);
  gpus.device_memory = &data;
  gpus.gpu = reinterpret_cast<Gpu*>(&gpus);  // only compared with null
  EXPECT_FALSE(buffers.hold(&data));
}

TEST(HostBuffers, HoldNothingThatCannotBeUsed) {
  CountingGpus gpus;
  gpus.fails = true;
  HostBuffers buffers(&gpus);
  const char data = 0;
  EXPECT_FALSE(buffers.hold(&data));
  EXPECT_FALSE(buffers.hold(&data));
  EXPECT_EQ(gpus.asked, 2);
}

TEST(HostBuffers, HoldAllWhereThereIsNoGpu) {
  HostBuffers buffers(nullptr);
  const char data = 0;
  EXPECT_TRUE(buffers.hold(&data));
  CountingGpus gpus;
  HostBuffers asked(&gpus);
  EXPECT_TRUE(asked.hold(nullptr));
  EXPECT_EQ(gpus.asked, 0);
}

}  // namespace
}  // namespace hocket::comm
