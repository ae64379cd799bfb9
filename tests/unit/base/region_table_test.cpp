#include "src/base/region_table.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <thread>

namespace hocket {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t region_table_page = 4096;

struct Memory {
  explicit Memory(std::size_t bytes, int protection = PROT_READ | PROT_WRITE, int flags = MAP_SHARED)
      : fd(::memfd_create("test", MFD_CLOEXEC)), size(bytes) {
    EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
    data = static_cast<std::byte*>(::mmap(nullptr, bytes, protection, flags, fd.get(), 0));
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { ::munmap(data, size); }

  UniqueFd fd;
  std::size_t size;
  std::byte* data;
};

TEST(RegionTable, FindsWhatLiesWithinOneRegion) {
  RegionTable table;
  Memory a(4 * region_table_page), b(region_table_page);
  const auto id_a = table.add(a.fd.get(), a.data, 4 * region_table_page);
  const auto id_b = table.add(b.fd.get(), b.data, region_table_page);
  ASSERT_TRUE(id_a.ok() && id_b.ok());
  EXPECT_NE(*id_a, 0u);
  EXPECT_NE(*id_a, *id_b);
  EXPECT_EQ(table.find(a.data, 4 * region_table_page)->id, *id_a);
  EXPECT_EQ(table.find(a.data + 100, 1)->id, *id_a);
  EXPECT_EQ(table.find(a.data + 4 * region_table_page - 1, 1)->id, *id_a);
  EXPECT_EQ(table.find(b.data, region_table_page)->id, *id_b);
  EXPECT_FALSE(table.find(a.data + 1, 4 * region_table_page));
  EXPECT_FALSE(table.find(a.data, SIZE_MAX));
  EXPECT_FALSE(table.find(&table, 1));
  const auto all = table.snapshot();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_LT(all[0].address, all[1].address);
}

TEST(RegionTable, KnowsWhereInTheFileAPartLies) {
  RegionTable table;
  Memory memory(8 * region_table_page);
  const auto id = table.add(memory.fd.get(), memory.data + 2 * region_table_page + 64, region_table_page);
  ASSERT_TRUE(id.ok()) << id.status().message();
  EXPECT_EQ(table.snapshot().front().file_offset, 2 * region_table_page + 64);
}

TEST(RegionTable, IsGoneAfterRemovalAndNumbersAreNotUsedAgain) {
  RegionTable table;
  Memory memory(region_table_page);
  const auto before = table.version();
  const auto id = table.add(memory.fd.get(), memory.data, region_table_page);
  ASSERT_TRUE(id.ok());
  EXPECT_NE(table.version(), before);
  const auto kept = table.snapshot().front();
  EXPECT_NE(kept.fd.lock(), nullptr);
  const auto between = table.version();
  EXPECT_TRUE(table.remove(memory.data));
  EXPECT_NE(table.version(), between);
  EXPECT_EQ(kept.fd.lock(), nullptr) << "the descriptor must not keep the memory";
  EXPECT_FALSE(table.remove(memory.data));
  EXPECT_FALSE(table.find(memory.data, 1));
  const auto again = table.add(memory.fd.get(), memory.data, region_table_page);
  ASSERT_TRUE(again.ok());
  EXPECT_NE(*again, *id);
}

TEST(RegionTable, OutlivesTheCallersDescriptor) {
  RegionTable table;
  Memory memory(region_table_page);
  ASSERT_TRUE(table.add(memory.fd.get(), memory.data, region_table_page).ok());
  memory.fd.reset();
  const auto fd = table.snapshot().front().fd.lock();
  ASSERT_NE(fd, nullptr);
  EXPECT_GE(::fcntl(fd->get(), F_GETFD), 0);
}

void expect_refused(RegionTable& table, int fd, void* address, std::size_t bytes, const char* why) {
  const auto refused = table.add(fd, address, bytes);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::invalid_argument);
  EXPECT_THAT(refused.status().message(), HasSubstr(why));
  EXPECT_TRUE(table.snapshot().empty());
}

TEST(RegionTable, RefusesWhatPeersCouldNotMapAlike) {
  RegionTable table;
  Memory right(2 * region_table_page), other(2 * region_table_page);
  Memory copied(region_table_page, PROT_READ | PROT_WRITE, MAP_PRIVATE), read_only(region_table_page, PROT_READ);
  std::vector<std::byte> heap(region_table_page);
  expect_refused(table, right.fd.get(), other.data, region_table_page, "another file's");
  expect_refused(table, copied.fd.get(), copied.data, region_table_page, "not mapped shared");
  expect_refused(table, read_only.fd.get(), read_only.data, region_table_page, "not mapped shared");
  expect_refused(table, right.fd.get(), heap.data(), region_table_page, "not");
  expect_refused(table, -1, right.data, region_table_page, "Bad file descriptor");
  expect_refused(table, right.fd.get(), nullptr, region_table_page, "null");
  expect_refused(table, right.fd.get(), right.data, 0, "empty");
  expect_refused(table, right.fd.get(), right.data, SIZE_MAX, "empty");
  ASSERT_EQ(::ftruncate(right.fd.get(), region_table_page), 0);  // the second page would be SIGBUS
  expect_refused(table, right.fd.get(), right.data, 2 * region_table_page, "ftruncate");
}

TEST(RegionTable, SealsFilesAgainstShrinkingOrSaysThatItCannot) {
  for (const unsigned flags : {unsigned{MFD_ALLOW_SEALING}, 0U}) {
    RegionTable table;
    const UniqueFd fd(::memfd_create("test", MFD_CLOEXEC | flags));
    ASSERT_EQ(::ftruncate(fd.get(), region_table_page), 0);
    void* const memory = ::mmap(nullptr, region_table_page, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    ASSERT_TRUE(table.add(fd.get(), memory, region_table_page).ok());
    EXPECT_EQ(table.find(memory, region_table_page)->may_shrink, flags == 0);
    EXPECT_EQ(::ftruncate(fd.get(), 0) != 0, flags != 0);
    ::munmap(memory, region_table_page);
  }
}

TEST(RegionTable, RefusesOverlaps) {
  RegionTable table;
  Memory memory(4 * region_table_page);
  ASSERT_TRUE(table.add(memory.fd.get(), memory.data + region_table_page, 2 * region_table_page).ok());
  for (const auto& [first, pages] : {std::pair{0, 2}, {1, 2}, {2, 1}, {2, 2}, {0, 4}}) {
    const auto refused = table.add(memory.fd.get(), memory.data + first * region_table_page, pages * region_table_page);
    ASSERT_FALSE(refused.ok()) << first << " " << pages;
    EXPECT_EQ(refused.status().code(), Code::invalid_argument);
  }
  EXPECT_TRUE(table.add(memory.fd.get(), memory.data, region_table_page).ok());
  EXPECT_TRUE(table.add(memory.fd.get(), memory.data + 3 * region_table_page, region_table_page).ok());
}

TEST(RegionTable, OnlyItsOwnerRemovesARegion) {
  RegionTable table;
  Memory memory(region_table_page);
  ASSERT_TRUE(table.add(memory.fd.get(), memory.data, region_table_page).ok());
  EXPECT_FALSE(table.remove(memory.data, RegionOwner::hocket)) << "or freeing it would unmap a caller's memory";
  EXPECT_FALSE(table.remove(memory.data + 1));
  EXPECT_TRUE(table.remove(memory.data));
  ASSERT_TRUE(table.add(memory.fd.get(), memory.data, region_table_page, RegionOwner::hocket).ok());
  EXPECT_FALSE(table.remove(memory.data));
  EXPECT_TRUE(table.remove(memory.data, RegionOwner::hocket));
}

TEST(RegionTable, ManyThreadsAtOnce) {
  RegionTable table;
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      Memory memory(region_table_page);
      for (int round = 0; round < 50; ++round) {
        const auto id = table.add(memory.fd.get(), memory.data, region_table_page);
        if (!id.ok() || table.find(memory.data, region_table_page)->id != *id || !table.remove(memory.data)) return;
      }
      ++good;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 4);
  EXPECT_TRUE(table.snapshot().empty());
}

}  // namespace
}  // namespace hocket
