#include "src/base/last_cache.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace hocket {
namespace {

// A folder with what the kernel shows there of a core's caches.
class Core {
 public:
  Core() : folder_(std::filesystem::temp_directory_path() / fmt::format("hocket-core-{}", ::getpid())) {}
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  ~Core() { std::filesystem::remove_all(folder_); }
  void add(const std::string& level, const std::string& size, const std::string& cores) {
    const auto cache = folder_ / fmt::format("index{}", caches_++);
    std::filesystem::create_directories(cache);
    std::ofstream(cache / "level") << level << '\n';
    std::ofstream(cache / "size") << size << '\n';
    std::ofstream(cache / "shared_cpu_map") << cores << '\n';
  }
  LastCache last() const { return LastCache::of(folder_.string(), 48); }

 private:
  const std::filesystem::path folder_;
  int caches_ = 0;
};

TEST(LastCache, IsThatOfTheHighestLevel) {
  Core core;
  core.add("1", "32K", "00000000,00000001");
  core.add("1", "64K", "00000000,00000001");  // for instructions
  core.add("3", "16384K", "0000000f,000f000f");
  core.add("2", "1024K", "00000000,00000001");
  EXPECT_EQ(core.last().bytes, std::size_t{16} << 20);
  EXPECT_EQ(core.last().on_host, 4U) << "12 cores share one, of 48";
}

TEST(LastCache, IsAsUsualWhereNothingTells) {
  Core core;
  EXPECT_EQ(core.last().bytes, LastCache().bytes);
  core.add("2", "1024K", "3");
  EXPECT_EQ(core.last().bytes, LastCache().bytes);
  core.add("3", "", "3");
  EXPECT_EQ(core.last().bytes, LastCache().bytes);
  core.add("3", "8192K", "");
  EXPECT_EQ(core.last().on_host, 1U);
  EXPECT_GT(LastCache::here().bytes, 0U);
  EXPECT_GE(LastCache::here().on_host, 1U);
}

TEST(LastCache, RanksHaveOneEachWhereThereAreEnough) {
  const LastCache last{.bytes = 100, .on_host = 8};
  EXPECT_EQ(last.bytes_of_all(0), 100U);
  EXPECT_EQ(last.bytes_of_all(1), 100U);
  EXPECT_EQ(last.bytes_of_all(4), 400U);
  EXPECT_EQ(last.bytes_of_all(100), 800U);
}

}  // namespace
}  // namespace hocket
