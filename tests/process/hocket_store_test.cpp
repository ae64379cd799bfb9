// The daemon as a real process.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "src/store/store_server.hpp"
#include "src/store/tcp_store.hpp"
#include "tests/process/support/store_daemon.hpp"
#include "tests/support/generous.hpp"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(HocketStore, ServesUntilItIsTold) {
  for (const int number : {SIGTERM, SIGINT}) {
    Daemon daemon({"--port", "0"});
    const std::uint16_t port = daemon.port();
    const auto store = TcpStore::connect("127.0.0.1", port, generous());
    ASSERT_TRUE(store.ok()) << store.status().message();
    EXPECT_EQ((*store)->add("n", 2, generous()).value(), 2);
    Result<std::string> got = std::string();
    std::thread waiter([&] { got = (*store)->get("never", generous()); });
    daemon.signal(number);
    EXPECT_EQ(daemon.wait(), 0);
    waiter.join();
    EXPECT_EQ(got.status().code(), Code::store_unreachable);
    EXPECT_EQ(daemon.rest(), "");
  }
}

TEST(HocketStore, BindsWhereItIsTold) {
  Daemon daemon({"--bind", "0.0.0.0", "--port", "0"});
  const auto store = TcpStore::connect("127.0.0.1", daemon.port(), generous());
  EXPECT_TRUE(store.ok()) << store.status().message();
}

TEST(HocketStore, ItsDeathEndsWaits) {
  Daemon daemon({"--port", "0"});
  const auto store = TcpStore::connect("127.0.0.1", daemon.port(), generous());
  ASSERT_TRUE(store.ok()) << store.status().message();
  Result<std::string> got = std::string();
  std::thread waiter([&] { got = (*store)->get("never", generous()); });
  daemon.signal(SIGKILL);
  waiter.join();
  EXPECT_EQ(got.status().code(), Code::store_unreachable);
}

TEST(HocketStore, AStoppedProcessIsUnreachable) {
  Daemon daemon({"--port", "0"});
  const auto store = TcpStore::connect("127.0.0.1", daemon.port(), generous());
  ASSERT_TRUE(store.ok()) << store.status().message();
  daemon.stop();
  const Status status = (*store)->set("key", "value", Deadline::after(std::chrono::milliseconds(100)));
  EXPECT_EQ(status.code(), Code::store_unreachable);
  EXPECT_THAT(status.message(), HasSubstr("did not answer"));
  daemon.signal(SIGCONT);
  EXPECT_EQ((*store)->get("key", generous()).value(), "value");  // the connection is whole
}

TEST(HocketStore, ATakenPortIsOneSentence) {
  const auto server = StoreServer::start("127.0.0.1", 0);
  ASSERT_TRUE(server.ok()) << server.status().message();
  const std::string port = std::to_string((*server)->port());
  Daemon daemon({"--port", port});
  const std::string said = daemon.rest();
  EXPECT_EQ(daemon.wait(), 1);
  EXPECT_THAT(said, HasSubstr("127.0.0.1:" + port));
  EXPECT_THAT(said, HasSubstr("choose another port"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST(HocketStore, WrongArgumentsAreOneSentence) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--bogus"}, "--bogus"},    {{"--port", "65536"}, "--port"}, {{"--port", "-1"}, "--port"},
      {{"--port", "x"}, "--port"}, {{"--port"}, "--port"},          {{"extra"}, "extra"}};
  for (const auto& [arguments, named] : cases) {
    Daemon daemon(arguments);
    const std::string said = daemon.rest();
    EXPECT_EQ(daemon.wait(), 2) << said;
    EXPECT_THAT(said, StartsWith("hocket-store: "));
    EXPECT_THAT(said, HasSubstr(named));
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  }
  Daemon nowhere({"--bind", ""});
  EXPECT_THAT(nowhere.rest(), HasSubstr("bind"));
  EXPECT_NE(nowhere.wait(), 0);
}

TEST(HocketStore, SaysItsVersion) {
  Daemon daemon({"--version"});
  EXPECT_EQ(daemon.rest(), "hocket-store 0.1.0\n");
  EXPECT_EQ(daemon.wait(), 0);
}

}  // namespace
}  // namespace hocket
