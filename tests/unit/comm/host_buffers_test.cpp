#include "src/comm/host_buffers.hpp"

#include <gtest/gtest.h>

#include <cstddef>

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

constexpr std::size_t page_bytes = 4096, pages = 200;
alignas(page_bytes) char some_pages[pages * page_bytes];

TEST(HostBuffers, AskSeldomForAPageThatIsKnown) {
  CountingGpus gpus;
  HostBuffers buffers(&gpus);
  for (int round = 0; round < 3; ++round) {
    for (std::size_t at = 0; at < sizeof some_pages; at += page_bytes / 2) EXPECT_TRUE(buffers.hold(&some_pages[at]));
  }
  EXPECT_GE(gpus.asked, 200);
  EXPECT_LE(gpus.asked, 205);  // of 1,200 calls, each 256th asks, too
}

TEST(HostBuffers, KnowOnePageFromAnother) {
  EXPECT_TRUE(HostBuffers::in_one_page(&some_pages[0], &some_pages[page_bytes - 1]));
  EXPECT_FALSE(HostBuffers::in_one_page(&some_pages[page_bytes - 1], &some_pages[page_bytes]));
  EXPECT_TRUE(HostBuffers::in_one_page(nullptr, nullptr));
  EXPECT_FALSE(HostBuffers::in_one_page(&some_pages[0], nullptr));
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
  const char* const data = &some_pages[0];
  EXPECT_TRUE(buffers.hold(data));
  gpus.has_driver = true;
  const char* const other = &some_pages[page_bytes];
  EXPECT_TRUE(buffers.hold(other));  // which sees the driver
  const int before = gpus.asked;
  EXPECT_TRUE(buffers.hold(data));
  EXPECT_TRUE(buffers.hold(data));
  EXPECT_EQ(gpus.asked, before + 2);
  gpus.device_memory = data;
  gpus.gpu = reinterpret_cast<Gpu*>(&gpus);  // only compared with null
  EXPECT_FALSE(buffers.hold(data));
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
