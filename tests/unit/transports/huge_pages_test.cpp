// Files of huge pages: the kernel maps whole ones.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "transports/shm/shared_memory.hpp"

namespace hocket::shm {
namespace {

constexpr std::size_t huge = std::size_t{2} << 20;
constexpr std::size_t part = huge + (huge / 2);  // of a file of two pages

std::size_t mapped_bytes(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  std::size_t bytes = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(name) == std::string::npos) continue;
    std::size_t end = 0;
    const std::size_t begin = std::stoull(line, &end, 16);
    bytes += std::stoull(line.substr(end + 1), nullptr, 16) - begin;
  }
  return bytes;
}

TEST(HugePages, AreMappedWholeAndGivenBack) {
  const UniqueFd fd(::memfd_create("hocket-huge", MFD_CLOEXEC | MFD_HUGETLB | MFD_HUGE_2MB));
  if (!fd || ::ftruncate(fd.get(), 2 * huge) != 0 || ::fallocate(fd.get(), 0, 0, 2 * huge) != 0) {
    GTEST_SKIP() << "this machine has no two huge pages; see /proc/sys/vm/nr_hugepages";
  }
  EXPECT_EQ(page_bytes_of(fd.get()), huge);
  {
    const auto mapped = map_memory(fd.get(), 0, part);
    ASSERT_TRUE(mapped.ok()) << mapped.status().message();
    EXPECT_EQ(mapped->bytes(), 2 * huge) << "what the kernel maps is what was reserved";
    EXPECT_EQ(mapped_bytes("hocket-huge"), 2 * huge);
    mapped->data()[part - 1] = std::byte{1};
  }
  EXPECT_EQ(mapped_bytes("hocket-huge"), 0u) << "nothing stays";
}

TEST(HugePages, OrdinaryFilesHaveOrdinaryPages) {
  const auto fd = create_memory("a test", 4096);
  ASSERT_TRUE(fd.ok());
  const auto mapped = map_memory(fd->get(), 0, 100);
  ASSERT_TRUE(mapped.ok());
  EXPECT_EQ(mapped->bytes() % static_cast<std::size_t>(::getpagesize()), 0u);
}

}  // namespace
}  // namespace hocket::shm
