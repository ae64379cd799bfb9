// The store's daemon ends and comes back while ranks meet in it.
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "src/store/open_store.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/store_daemon.hpp"
#include "tests/support/redis_server.hpp"

namespace hocket::process_testing {
namespace {

Deadline store_restart_patience() {
  return Deadline::after(std::chrono::seconds(30));
}

using Variables = std::map<std::string, std::string>;

// The ranks of a job, which find the store by these variables, and of which two wait there while it ends and comes
// back.
void bring_back(const std::string& url, const Variables& where, const std::function<void()>& end,
                const std::function<void()>& start) {
  ProcessGroup group(3, [&](Child& child) {
    ::unsetenv("HOCKET_STORE");
    for (const auto& [name, value] : where) ::setenv(name.c_str(), value.c_str(), 1);
    ::setenv("HOCKET_SECRET", "what the ranks of this job know", 1);
    child.say("here");
    if (child.index == 2) {
      EXPECT_EQ(child.hear(), "come");
    }
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.timeout_ms = 60'000;
    const Comm comm(&options);
    ASSERT_TRUE(comm) << hocket_last_error();
    Call({.count = 100}, child.index, 3).run(comm.get());
  });
  group.hear_from_all("here");
  {
    const auto store =
        open_store(url, store_restart_patience(), {}, {.secret = "what the ranks of this job know"}).value();
    for (const char* place : {"default/1/place/0", "default/1/place/1"}) {
      EXPECT_TRUE(store->get(place, store_restart_patience()).ok()) << place;
    }
  }
  end();
  start();
  group.tell(2, "come");
  group.expect_success();
}

TEST(StoreRestart, BringsWaitingRanksBack) {
  ::setenv("HOCKET_SECRET", "what the ranks of this job know", 1);
  for (const int number : {SIGKILL, SIGTERM}) {
    auto daemon = std::make_unique<Daemon>(std::vector<std::string>{"--port", "0"});
    const std::string port = std::to_string(daemon->port());
    const auto end = [&] {
      daemon->signal(number);
      EXPECT_EQ(daemon->wait(), number == SIGTERM ? 0 : 128 + SIGKILL);
    };
    const auto start = [&] {
      daemon = std::make_unique<Daemon>(std::vector<std::string>{"--port", port});
      EXPECT_EQ(std::to_string(daemon->port()), port);
    };
    const std::string url = "tcp://127.0.0.1:" + port;
    bring_back(url, {{"HOCKET_STORE", url}}, end, start);
  }
  ::unsetenv("HOCKET_SECRET");
}

TEST(StoreRestart, OfADaemonAtTheMeetingPointIsNotNeeded) {
  ::setenv("HOCKET_SECRET", "what the ranks of this job know", 1);
  Daemon daemon({"--port", "0"});
  const std::string port = std::to_string(daemon.port());
  const auto end = [&] {
    daemon.signal(SIGKILL);
    EXPECT_EQ(daemon.wait(), 128 + SIGKILL);
  };
  const auto rank_0_serves = [] {};
  bring_back("tcp://127.0.0.1:" + port, {{"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", port}}, end, rank_0_serves);
  ::unsetenv("HOCKET_SECRET");
}

TEST(StoreRestart, OfRedisBringsWaitingRanksBack) {
  if (const std::string problem = RedisServer::problem(); !problem.empty()) GTEST_SKIP() << problem;
  RedisServer server;
  bring_back(
      server.url(), {{"HOCKET_STORE", server.url()}}, [&] { server.end(); }, [&] { server.start(); });
}

}  // namespace
}  // namespace hocket::process_testing
