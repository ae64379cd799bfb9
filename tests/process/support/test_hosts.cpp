#include "tests/process/support/test_hosts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/process/program.hpp"

namespace hocket::process_testing {
namespace {

constexpr int cannot = 77;  // tools/test-hosts exits with this where there can be no hosts

Ran test_hosts(const std::string& arguments) {
  return run_command(fmt::format("'{}/tools/test-hosts' {}", HOCKET_SOURCE_FOLDER, arguments));
}

UniqueFd open_namespace(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw std::runtime_error(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  return fd;
}

void move_into(const UniqueFd& space, int kind) {
  if (::setns(space.get(), kind) != 0) throw std::runtime_error(fmt::format("setns: {}", std::strerror(errno)));
}

}  // namespace

TestHosts::TestHosts(const std::string& options) : name_(fmt::format("test-{}", ::getpid())) {
  const Ran made = test_hosts(fmt::format("make {} --owner {} {}", name_, ::getpid(), options));
  if (made.status != 0) {
    problem_ = made.error;
    if (made.status != cannot) ADD_FAILURE() << made.error;
    return;
  }
  const auto state = nlohmann::json::parse(made.out);
  const std::string holder = fmt::format("/proc/{}", state["holder"].get<int>());
  if (state["user_namespace"].get<bool>()) user_namespace_ = open_namespace(holder + "/ns/user");
  for (int host = 0; host < state["hosts"].get<int>(); ++host) {
    const int fd = state["namespaces"][std::to_string(host)].get<int>();
    namespaces_.push_back(open_namespace(fmt::format("{}/fd/{}", holder, fd)));
  }
  const auto has = [&](const char* family) {
    return std::ranges::find(state["families"], family) != state["families"].end();
  };
  master_ = has("ipv4") ? ipv4(0) : has("ipv6") ? ipv6(0) : link_local(0) + "%eth0";
}

TestHosts::~TestHosts() {
  if (*this) (void)test_hosts("remove " + name_);
}

void TestHosts::enter(int host) const {
  if (user_namespace_) move_into(user_namespace_, CLONE_NEWUSER);
  move_into(namespaces_.at(static_cast<std::size_t>(host)), CLONE_NEWNET);
  ::setenv("MASTER_ADDR", master_.c_str(), 1);
  ::setenv("HOCKET_SECRET", "what the ranks of a test know", 0);
  ::setenv("HOCKET_HOST_ID", fmt::format("{}/h{}", name_, host).c_str(), 1);
}

std::string TestHosts::ipv4(int host, int network) {
  return fmt::format("10.77.{}.{}", network, host + 1);
}

std::string TestHosts::ipv6(int host, int network) {
  return network == 0 ? fmt::format("fd77::{:x}", host + 1) : fmt::format("fd77:{:x}::{:x}", network, host + 1);
}

std::string TestHosts::link_local(int host, int network) {
  return fmt::format("fe80::77:{:x}:{:x}", network, host + 1);
}

std::string TestHosts::on(int host) const {
  return fmt::format("'{}/tools/test-hosts' exec {} {} -- ", HOCKET_SOURCE_FOLDER, name_, host);
}

std::vector<pid_t> TestHosts::processes_on(int host) const {
  struct stat wanted {};
  ::fstat(namespaces_.at(static_cast<std::size_t>(host)).get(), &wanted);
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const int pid = std::atoi(entry.path().filename().c_str());
    struct stat own {};
    if (pid > 0 && ::stat((entry.path() / "ns/net").c_str(), &own) == 0 && own.st_ino == wanted.st_ino) {
      found.push_back(pid);
    }
  }
  return found;
}

void TestHosts::change(const std::string& verb, int host, const std::string& rest) const {
  const Ran ran = test_hosts(fmt::format("{} {} {} {}", verb, name_, host, rest));
  EXPECT_EQ(ran.status, 0) << verb << " " << rest << ": " << ran.error;
}

}  // namespace hocket::process_testing
