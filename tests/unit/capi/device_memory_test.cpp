// Memory of a GPU is refused by name, also by a call that is like the one before but for its buffer. The driver is a
// fake one, which is loaded in the middle of the program, as the real one may be.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "hocket/hocket.h"

namespace {

using ::testing::HasSubstr;
using Claim = void (*)(const void* memory, std::size_t bytes, unsigned type, unsigned managed, int device);

constexpr unsigned host = 1, device = 2;

struct Alone {
  Alone() {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.rank = 0;
    options.world_size = 1;
    EXPECT_EQ(hocket_comm_create(&comm, &options), HOCKET_OK) << hocket_last_error();
  }
  ~Alone() { hocket_comm_destroy(comm); }

  hocket_result sum_in_place(std::vector<float>& values) const {
    return hocket_allreduce(values.data(), values.data(), values.size(), HOCKET_FLOAT32, HOCKET_SUM, comm, nullptr,
                            nullptr);
  }

  hocket_comm* comm = nullptr;
};

Claim load_fake_driver() {
  void* const driver = ::dlopen(HOCKET_FAKE_CUDA, RTLD_NOW);
  EXPECT_NE(driver, nullptr) << ::dlerror();
  return driver == nullptr ? nullptr : reinterpret_cast<Claim>(::dlsym(driver, "fake_cuda_claim"));
}

TEST(DeviceMemory, IsRefusedByName) {
  const Alone alone;
  std::vector<float> one(100), other(100);
  ASSERT_EQ(alone.sum_in_place(one), HOCKET_OK) << hocket_last_error();
  const Claim claim = load_fake_driver();
  ASSERT_NE(claim, nullptr);
  claim(other.data(), other.size() * sizeof(float), device, 0, 3);
  EXPECT_EQ(alone.sum_in_place(other), HOCKET_UNSUPPORTED);
  EXPECT_THAT(hocket_last_error(), HasSubstr("allreduce: send is device memory of GPU 3"));
  EXPECT_EQ(alone.sum_in_place(one), HOCKET_OK) << "the communicator goes on";
  claim(one.data(), one.size() * sizeof(float), device, 0, 0);
  EXPECT_EQ(alone.sum_in_place(one), HOCKET_UNSUPPORTED) << "the same address may be a device's once there is a driver";
  EXPECT_EQ(hocket_allreduce(other.data(), one.data(), 1, HOCKET_FLOAT32, HOCKET_SUM, alone.comm, nullptr, nullptr),
            HOCKET_UNSUPPORTED);
  EXPECT_THAT(hocket_last_error(), HasSubstr("allreduce: recv is device memory of GPU 0"));
}

TEST(DeviceMemory, PinnedAndManagedMemoryAreLikeHostMemory) {
  const Alone alone;
  std::vector<float> values(100);
  const Claim claim = load_fake_driver();
  ASSERT_NE(claim, nullptr);
  claim(values.data(), values.size() * sizeof(float), host, 0, 0);
  EXPECT_EQ(alone.sum_in_place(values), HOCKET_OK) << hocket_last_error();
  claim(values.data(), values.size() * sizeof(float), device, 1, 0);
  EXPECT_EQ(alone.sum_in_place(values), HOCKET_OK) << hocket_last_error();
}

}  // namespace
