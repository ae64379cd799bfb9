// What becomes of a store's sockets where the process that holds them starts others, or forks.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/fd.hpp"
#include "src/store/dial.hpp"
#include "src/store/store_server.hpp"
#include "src/store/tcp_store.hpp"
#include "tests/support/generous.hpp"

namespace hocket {
namespace {

constexpr int numbers_max = 1024;

// By its name: fstat() would be an access that races with the server's thread, which opens descriptors meanwhile.
bool is_socket(int fd) {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), none).native().starts_with("socket:");
}

std::vector<int> sockets_but(const std::vector<int>& others) {
  std::vector<int> found;
  for (int fd = 0; fd < numbers_max; ++fd) {
    if (is_socket(fd) && std::ranges::find(others, fd) == others.end()) found.push_back(fd);
  }
  return found;
}

// A server with a client, and one who asks for metrics and has not said so yet.
class StoreSockets : public testing::Test {
 protected:
  void SetUp() override {
    auto started = StoreServer::start("127.0.0.1", 0, {.metrics_port = 0});
    ASSERT_TRUE(started.ok()) << started.status().message();
    server_ = std::move(*started);
    auto connected = TcpStore::connect("127.0.0.1", server_->port(), generous());
    ASSERT_TRUE(connected.ok()) << connected.status().message();
    client_ = std::move(*connected);
    auto reader = store::dial_socket("127.0.0.1", server_->metrics_port(), generous(), {});
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    reader_ = std::move(*reader);
    // Two that listen, and both ends of both connections.
    for (const Deadline deadline = generous(); own().size() < 6 && !deadline.passed();) std::this_thread::yield();
    ASSERT_EQ(own().size(), 6u);
  }

  std::vector<int> own() const { return sockets_but(before_); }

  const std::vector<int> before_ = sockets_but({});
  std::unique_ptr<StoreServer> server_;
  std::unique_ptr<TcpStore> client_;
  UniqueFd reader_;
};

TEST_F(StoreSockets, AreNotInheritedByPrograms) {
  for (const int fd : own()) EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0) << fd;
}

TEST_F(StoreSockets, AreNotHeldByChildren) {
  const std::vector<int> held = own();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(static_cast<int>(std::ranges::count_if(held, is_socket)));
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "sockets";
}

// Nor where the child can open nothing else. Its numbers stay taken, as their holders close them later.
TEST_F(StoreSockets, AreNotHeldByChildrenThatHaveNoDescriptorLeft) {
  const std::vector<int> held = own();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit full{.rlim_cur = static_cast<rlim_t>(held.back()) + 1, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &full), 0);
  std::vector<UniqueFd> others;
  for (UniqueFd next; (next = UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)));) others.push_back(std::move(next));
  const pid_t child = ::fork();
  const auto is_open = [](int fd) { return ::fcntl(fd, F_GETFD) >= 0; };
  if (child == 0) {
    ::_exit(std::ranges::none_of(held, is_socket) && std::ranges::all_of(held, is_open) ? 0 : 1);
  }
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(StoreSockets, AreOverWithTheServerWhoeverElseHoldsThem) {
  std::vector<UniqueFd> copies;
  for (const int fd : own()) copies.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  server_.reset();
  for (const Deadline deadline = generous(); client_->connection().ok() && !deadline.passed();) {
    std::this_thread::yield();
  }
  EXPECT_EQ(client_->connection().code(), Code::store_unreachable);
}

}  // namespace
}  // namespace hocket
