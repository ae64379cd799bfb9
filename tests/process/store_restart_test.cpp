// The store's daemon ends and comes back while ranks meet in it.
#include <functional>
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

Deadline patience() {
  return Deadline::after(std::chrono::seconds(30));
}

// The ranks of a job of which two wait in the store while that ends and comes back.
void bring_back(const std::string& url, const std::function<void()>& end, const std::function<void()>& start) {
  ProcessGroup group(3, [&](Child& child) {
    ::setenv("HOCKET_STORE", url.c_str(), 1);
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
    const auto store = open_store(url, patience(), {}, {.secret = "what the ranks of this job know"}).value();
    for (const char* place : {"default/1/place/0", "default/1/place/1"}) {
      EXPECT_TRUE(store->get(place, patience()).ok()) << place;
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
    bring_back("tcp://127.0.0.1:" + port, end, start);
  }
  ::unsetenv("HOCKET_SECRET");
}

TEST(StoreRestart, OfRedisBringsWaitingRanksBack) {
  if (const std::string problem = RedisServer::problem(); !problem.empty()) GTEST_SKIP() << problem;
  RedisServer server;
  bring_back(
      server.url(), [&] { server.end(); }, [&] { server.start(); });
}

}  // namespace
}  // namespace hocket::process_testing
