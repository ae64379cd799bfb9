#include "src/base/memory_left.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>

#include "src/base/region_table.hpp"
#include "transports/shm/shared_memory.hpp"

namespace hocket {
namespace {

// A root folder with what the kernel would show there.
class Host {
 public:
  Host() : folder_(std::filesystem::temp_directory_path() / fmt::format("hocket-host-{}", ::getpid())) {}
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host() { std::filesystem::remove_all(folder_); }
  void write(const std::string& file, const std::string& text) {
    const auto path = folder_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  // What is left where `wanted` bytes are too many; UINT64_MAX: they are not.
  std::uint64_t left_for(std::uint64_t wanted) {
    const auto shortage = memory_shortage(wanted, folder_.string());
    limit = shortage ? shortage->limit : "";
    return shortage ? shortage->left : UINT64_MAX;
  }

  std::string limit;

 private:
  std::filesystem::path folder_;
};

TEST(MemoryLeft, IsWhatTheHostAndEachCgroupLeave) {
  Host host;
  EXPECT_EQ(host.left_for(1'000'000'000), UINT64_MAX) << "nothing is known";
  host.write("proc/meminfo", "MemTotal:  4000 kB\nMemFree:  100 kB\nMemAvailable:   1000 kB\nSwapFree:   24 kB\n");
  EXPECT_EQ(host.left_for(1024 << 10), UINT64_MAX);
  EXPECT_EQ(host.left_for((1024 << 10) + 1), 1024u << 10);
  EXPECT_EQ(host.limit, "this host");
  host.write("proc/self/cgroup", "1:name=systemd:/elsewhere\n0::/job/step\n");
  EXPECT_EQ(host.left_for(200'000), UINT64_MAX);
  host.write("sys/fs/cgroup/job/memory.max", "600000\n");
  host.write("sys/fs/cgroup/job/memory.current", "500000\n");
  host.write("sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file 50000\nactive_file 7\n");
  host.write("sys/fs/cgroup/job/step/memory.max", "max\n");
  host.write("sys/fs/cgroup/job/step/memory.current", "400000\n");
  EXPECT_EQ(host.left_for(150'000), UINT64_MAX);
  EXPECT_EQ(host.left_for(200'000), 150'000u);
  EXPECT_EQ(host.limit, "memory.max of cgroup /job/");
  host.write("sys/fs/cgroup/job/step/memory.max", "300000\n");
  EXPECT_EQ(host.left_for(1), 0u) << "used up";
}

TEST(MemoryLeft, KnowsTheFirstVersionOfCgroups) {
  Host host;
  host.write("proc/self/cgroup", "9:name=systemd:/\n4:memory:/\n0::/\n");
  host.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "600000\n");
  host.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "500000\n");
  host.write("sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 50000\n");
  EXPECT_EQ(host.left_for(150'000), UINT64_MAX);
  EXPECT_EQ(host.left_for(150'001), 150'000u);
  EXPECT_EQ(host.limit, "memory.limit_in_bytes of cgroup /");
}

TEST(MemoryLeft, MoreThanTheHostHasIsNotCommitted) {
  constexpr std::size_t bytes = std::size_t{1} << 46;
  if (!memory_shortage(bytes)) GTEST_SKIP() << "this machine has as much as that, or does not say";
  const auto made = shm::create_memory("a test", bytes);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), Code::out_of_resources);
}

// In a cgroup of its own a process is killed for what is committed beyond its limit.
TEST(MemoryLeft, MoreThanACgroupAllowsIsNotCommitted) {
  const bool first_version = std::filesystem::exists("/sys/fs/cgroup/memory");
  const std::string folder = fmt::format("/sys/fs/cgroup/{}hocket-test-{}", first_version ? "memory/" : "", ::getpid());
  std::error_code refused;
  std::filesystem::create_directory(folder, refused);
  std::ofstream most(folder + (first_version ? "/memory.limit_in_bytes" : "/memory.max"));
  if (refused || !(most << (64 << 20) << std::flush)) {
    std::filesystem::remove(folder, refused);
    GTEST_SKIP() << "this process may not make memory cgroups";
  }
  const pid_t child = ::fork();
  if (child == 0) {
    if (!(std::ofstream(folder + "/cgroup.procs") << ::getpid() << std::flush)) ::_exit(3);
    const auto names_cgroup = [](const Status& why) {
      return why.code() == Code::out_of_resources && why.message().find("of cgroup /hocket-test-") != std::string::npos;
    };
    constexpr std::size_t bytes = 256 << 20;
    const Status created = shm::create_memory("a test", bytes).status();
    const auto sparse = shm::create_memory("a test", bytes, shm::Commit::later);
    const auto mapped = shm::map_memory(sparse->get(), 0, bytes);
    const Status registered = RegionTable().add(sparse->get(), mapped->data(), bytes).status();
    ::_exit(names_cgroup(created) && names_cgroup(registered) ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_FALSE(WIFSIGNALED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  std::filesystem::remove(folder, refused);
}

}  // namespace
}  // namespace hocket
