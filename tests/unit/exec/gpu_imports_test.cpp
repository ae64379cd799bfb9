// What a process has open of other members' device memory is what they mean by it.
#include "src/exec/gpu/gpu_imports.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/host_gpu.hpp"

namespace hocket {
namespace {

// A GPU that opens and closes, and knows what is open.
class Opener final : public testing_support::HostGpu {
 public:
  Result<std::byte*> import_memory(const MemoryExport& memory) override {
    if (refuses) return Status(Code::out_of_resources, "no address space");
    opened.push_back(memory.allocation);
    return reinterpret_cast<std::byte*>(memory.allocation << 32);
  }
  Status close_import(std::byte* allocation) override {
    closed.push_back(reinterpret_cast<std::uintptr_t>(allocation) >> 32);
    return {};
  }

  bool refuses = false;
  std::vector<std::uint64_t> opened, closed;  // numbers of allocations
};

MemoryExport memory(std::uint64_t allocation, std::uint64_t at, std::uint64_t offset = 0) {
  return {.handle = {std::byte{7}},
          .allocation = allocation,
          .allocation_at = at,
          .allocation_bytes = 100,
          .offset = offset};
}

TEST(GpuImports, OpenAnAllocationOnce) {
  Opener gpu;
  GpuImports imports(gpu);
  std::byte* const first = *imports.find(1, memory(5, 1000, 8));
  EXPECT_EQ(*imports.find(1, memory(5, 1000, 24)), first + 16);
  EXPECT_EQ(gpu.opened, (std::vector<std::uint64_t>{5}));
}

TEST(GpuImports, MembersHaveTheirOwnAllocations) {
  Opener gpu;
  GpuImports imports(gpu);
  ASSERT_TRUE(imports.find(1, memory(5, 1000)).ok());
  ASSERT_TRUE(imports.find(2, memory(5, 1000)).ok());
  EXPECT_EQ(gpu.opened.size(), 2U);
  ASSERT_TRUE(imports.close_unused().ok());
  EXPECT_TRUE(gpu.closed.empty());
}

TEST(GpuImports, AnAddressThatIsUsedAgainIsOpenedAnewOnceTheOldOneIsClosed) {
  Opener gpu;
  GpuImports imports(gpu);
  std::byte* const before = *imports.find(1, memory(5, 1000));
  imports.meet(1, memory(5, 1000, 8));
  imports.meet(2, memory(6, 1000));
  EXPECT_FALSE(imports.must_close()) << "it is the same memory, or another member's";
  imports.meet(1, memory(6, 1050));
  EXPECT_TRUE(imports.must_close());
  EXPECT_TRUE(gpu.closed.empty()) << "a stream may still use it";
  ASSERT_TRUE(imports.close_unused().ok());
  EXPECT_FALSE(imports.must_close());
  EXPECT_EQ(gpu.closed, (std::vector<std::uint64_t>{5}));
  EXPECT_NE(*imports.find(1, memory(6, 1050)), before) << "the same handle, but other memory";
  imports.meet(1, memory(7, 1150));
  EXPECT_FALSE(imports.must_close()) << "this one only touches its neighbour";
}

TEST(GpuImports, KeepTheLatestUsedOfAMember) {
  Opener gpu;
  GpuImports imports(gpu);
  for (std::uint64_t i = 0; i < GpuImports::kept_of_a_member; ++i) {
    ASSERT_TRUE(imports.find(1, memory(1 + i, 1000 * (1 + i))).ok());
  }
  ASSERT_TRUE(imports.find(1, memory(1, 1000)).ok());
  ASSERT_TRUE(imports.find(2, memory(900, 1000)).ok()) << "another member's do not count";
  ASSERT_TRUE(imports.find(1, memory(1000, 1000 * 1000)).ok());
  ASSERT_TRUE(imports.close_unused().ok());
  EXPECT_EQ(gpu.closed, (std::vector<std::uint64_t>{2}));
}

TEST(GpuImports, WhatCannotBeOpenedIsTriedAgain) {
  Opener gpu;
  GpuImports imports(gpu);
  gpu.refuses = true;
  EXPECT_EQ(imports.find(1, memory(5, 1000)).status().code(), Code::out_of_resources);
  gpu.refuses = false;
  EXPECT_TRUE(imports.find(1, memory(5, 1000)).ok());
}

TEST(GpuImports, CloseEverythingAtTheEnd) {
  Opener gpu;
  {
    GpuImports imports(gpu);
    ASSERT_TRUE(imports.find(1, memory(5, 1000)).ok());
    imports.meet(1, memory(6, 1000));
    ASSERT_TRUE(imports.find(2, memory(7, 1000)).ok());
  }
  std::ranges::sort(gpu.closed);
  EXPECT_EQ(gpu.closed, (std::vector<std::uint64_t>{5, 7}));
}

}  // namespace
}  // namespace hocket
