// Ranks and newcomers that join them, over a store and a transport.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "hocket/hocket.h"
#include "src/store/open_store.hpp"
#include "tests/process/program.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/store_daemon.hpp"

namespace hocket::process_testing {

inline Deadline patience() {
  return Deadline::after(std::chrono::seconds(30));
}

// Every rank of the communicator adds one, and checks who has become what.
inline void expect_whole(hocket_comm* comm, int size, int members) {
  ASSERT_NE(comm, nullptr);
  std::int32_t sum = 1;
  expect_result(hocket_allreduce(&sum, &sum, 1, HOCKET_INT32, HOCKET_SUM, comm, nullptr, nullptr), HOCKET_OK);
  EXPECT_EQ(sum, size);
  for (std::int32_t now = 0; now < size; ++now) {
    std::int32_t previous = -2;
    expect_result(hocket_comm_previous_rank(comm, now, &previous), HOCKET_OK);
    EXPECT_EQ(previous, now < members ? now : -1);
  }
  expect_result(hocket_barrier(comm, nullptr, nullptr), HOCKET_OK);
}

inline hocket_join_options newcomers(int number) {
  hocket_join_options options = HOCKET_JOIN_OPTIONS_INIT;
  options.newcomers_min = number;
  options.newcomers_max = number == 0 ? 8 : number;
  return options;
}

// What a join that must succeed, or fail so, made.
inline hocket_comm* join(hocket_comm* comm, const hocket_join_options& options, hocket_result expected = HOCKET_OK,
                         const hocket_comm_options* comm_options = nullptr) {
  hocket_comm* joined = nullptr;
  expect_result(hocket_comm_join(comm, &joined, &options, comm_options), expected);
  return joined;
}

// A communicator of `size` processes that meet in the store that all use.
inline std::unique_ptr<Comm> members(int rank, int size, const char* name = nullptr) {
  hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
  options.world_size = size;
  options.rank = rank;
  options.name = name;
  return std::make_unique<Comm>(&options);
}

// What one joins with who has none.
inline std::unique_ptr<Comm> newcomer() {
  return std::make_unique<Comm>(static_cast<hocket_comm*>(nullptr));
}

enum class SharedStore : std::uint8_t { file, daemon };

// A store that processes share, and their transport.
class WithSharedStore {
 public:
  WithSharedStore(SharedStore kind, const std::string& transport) {
    if (kind == SharedStore::daemon) {
      daemon_ = std::make_unique<Daemon>(std::vector<std::string>{"--port", "0"});
      url_ = "tcp://127.0.0.1:" + std::to_string(daemon_->port());
    } else {
      url_ = "file://" + folder_.file("store");
    }
    ::setenv("HOCKET_TRANSPORT", transport.c_str(), 1);
  }
  ~WithSharedStore() { ::unsetenv("HOCKET_TRANSPORT"); }
  WithSharedStore(const WithSharedStore&) = delete;
  WithSharedStore& operator=(const WithSharedStore&) = delete;

  // Processes that find the store.
  ProcessGroup fork(int size, const ProcessGroup::Body& body) const {
    return ProcessGroup(size, [&](Child& child) {
      ::setenv("HOCKET_STORE", url_.c_str(), 1);
      body(child);
    });
  }
  void run(int size, const ProcessGroup::Body& body) const { fork(size, body).expect_success(); }

  Daemon& daemon() { return *daemon_; }
  // In the test's own process, which may not fork while it lives.
  std::unique_ptr<Store> open() const { return open_store(url_, patience(), {}).value(); }
  // Whether somebody has a place at the point "default", and an invitation.
  void expect_newcomer() const { EXPECT_TRUE(open()->get("default/join/default/0/place/0", patience()).ok()); }
  void expect_invitation() const {
    const auto store = open();
    const Deadline deadline = patience();
    while (store->list("default/join/default/invitation/", deadline).value().empty()) {
      ASSERT_FALSE(deadline.passed()) << "nobody was invited";
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  const TemporaryFolder folder_;
  std::unique_ptr<Daemon> daemon_;
  std::string url_;
};

}  // namespace hocket::process_testing
