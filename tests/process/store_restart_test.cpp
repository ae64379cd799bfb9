// The store's daemon ends and comes back while ranks meet in it.
#include <memory>
#include <string>

#include "src/store/open_store.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/store_daemon.hpp"

namespace hocket::process_testing {
namespace {

Deadline patience() {
  return Deadline::after(std::chrono::seconds(30));
}

TEST(StoreRestart, BringsWaitingRanksBack) {
  for (const int number : {SIGKILL, SIGTERM}) {
    auto daemon = std::make_unique<Daemon>(std::vector<std::string>{"--port", "0"});
    const std::string port = std::to_string(daemon->port());
    ProcessGroup group(3, [&](Child& child) {
      ::setenv("HOCKET_STORE", ("tcp://127.0.0.1:" + port).c_str(), 1);
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
      const auto store = open_store("tcp://127.0.0.1:" + port, patience()).value();
      for (const char* place : {"default/1/place/0", "default/1/place/1"}) {
        EXPECT_TRUE(store->get(place, patience()).ok()) << place;
      }
    }
    daemon->signal(number);
    EXPECT_EQ(daemon->wait(), number == SIGTERM ? 0 : 128 + SIGKILL);
    daemon = std::make_unique<Daemon>(std::vector<std::string>{"--port", port});
    EXPECT_EQ(std::to_string(daemon->port()), port);
    group.tell(2, "come");
    group.expect_success();
  }
}

}  // namespace
}  // namespace hocket::process_testing
