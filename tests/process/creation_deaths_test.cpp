// Ranks that are killed while communicators are created: every survivor names the one that died.
#include <signal.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "src/store/file_store.hpp"
#include "src/store/open_store.hpp"
#include "tests/conformance/store_callbacks.hpp"
#include "tests/conformance/watched_store.hpp"
#include "tests/process/program.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/hidden.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/store_daemon.hpp"

namespace hocket::process_testing {
namespace {

constexpr int created_size = 4;

// Creates a communicator in a store where this process kills itself before its request of that number.
hocket_result create_and_die(const std::string& path, std::optional<int> dies_before, std::int64_t timeout_ms) {
  auto file = FileStore::open(path, Deadline::after(std::chrono::seconds(60)));
  EXPECT_TRUE(file.ok()) << file.status().message();
  int request = 0;
  WatchedStore store(**file, [&] {
    if (request++ == dies_before) ::raise(SIGKILL);
  });
  const hocket_store_callbacks callbacks = callbacks_on(store);
  hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
  options.store_callbacks = &callbacks;
  options.timeout_ms = timeout_ms;
  hocket_comm* comm = nullptr;
  const hocket_result result = hocket_comm_create(&comm, &options);
  hocket_comm_destroy(comm);
  return result;
}

Deadline creation_patience() {
  return Deadline::after(std::chrono::seconds(60));
}

// The store that the process serves, once it does.
std::unique_ptr<Store> store_served_by(pid_t process) {
  for (const Deadline deadline = creation_patience(); !deadline.passed();) {
    for (const int port : listening_ports(process)) {
      auto store = open_store(fmt::format("tcp://127.0.0.1:{}", port), creation_patience());
      if (store.ok()) return std::move(*store);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  throw std::runtime_error("rank 0 serves no store");
}

TEST(CreationDeaths, AreNamedByEverySurvivorAndHarmNoLaterCreation) {
  const TemporaryFolder folder;
  const std::string path = folder.file("store");
  for (int victim = 0; victim < created_size; ++victim) {
    for (const int request : {0, 2, 3, 6}) {
      SCOPED_TRACE(fmt::format("rank {} died before its request {}", victim, request));
      ProcessGroup group(created_size, [&](Child& child) {
        const auto dies = child.index == victim ? std::optional(request) : std::nullopt;
        const hocket_result result = create_and_die(path, dies, 1500);
        EXPECT_TRUE(result == HOCKET_TIMEOUT || result == HOCKET_PEER_LOST) << hocket_last_error();
        EXPECT_EQ(last_cause().peer, victim) << hocket_last_error();
      });
      group.expect_success(victim);
      run_ranks(created_size, [&](Child&) { expect_result(create_and_die(path, std::nullopt, 60'000), HOCKET_OK); });
      if (HasFailure()) return;
    }
  }
}

// Until the rank has told the others about itself.
void expect_to_come(Store& store, int rank) {
  const auto card = store.get(fmt::format("default/1/card/{}", rank), creation_patience());
  EXPECT_TRUE(card.ok()) << card.status().message();
}

// How rank 1 ends, in words, where rank 0 is killed and rank 2 does not come.
enum class Order { killed_after_rank_1_met_the_store, killed_before };
std::string end_of_rank_1(Order order, std::int64_t timeout_ms) {
  const bool met = order == Order::killed_after_rank_1_met_the_store;
  ProcessGroup group(3, [&](Child& child) {
    if (child.index == 2) return;
    if (child.index == 1) {
      EXPECT_EQ(child.hear(), "create");
    }
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.timeout_ms = child.index == 0 ? 60'000 : timeout_ms;
    const hocket_result result = create_in_vain(&options);
    child.say(fmt::format("{}, rank {}", hocket_result_name(result), last_cause().peer));
  });
  const auto store = store_served_by(group.process(0));
  if (met) {
    group.tell(1, "create");
    expect_to_come(*store, 1);
  }
  group.signal(0, SIGKILL);
  if (!met) group.tell(1, "create");
  const std::string end = group.hear(1);
  group.expect_success(0);
  return end;
}

TEST(CreationDeaths, OfTheRankThatServesTheStoreAreNamed) {
  for (const Order order : {Order::killed_after_rank_1_met_the_store, Order::killed_before}) {
    std::string end;
    // Where this machine was so slow that rank 1's time was over before rank 0 was killed, more is needed.
    for (std::int64_t timeout_ms = 1000; timeout_ms <= 16'000; timeout_ms *= 4) {
      end = end_of_rank_1(order, timeout_ms);
      if (end != "HOCKET_TIMEOUT, rank 2") break;
    }
    const bool known = order == Order::killed_after_rank_1_met_the_store;
    EXPECT_EQ(end, known ? "HOCKET_PEER_LOST, rank 0" : "HOCKET_STORE_UNREACHABLE, rank 0");
  }
}

// Three ranks wait for a fourth one, which never comes, when the victim is killed. `store`: "", which rank 0 serves, or
// a URL. No deadline can find it.
void expect_to_be_known(const std::string& url, int victim) {
  ProcessGroup group(created_size, [&](Child& child) {
    if (child.index == 3) return;
    if (!url.empty()) ::setenv("HOCKET_STORE", url.c_str(), 1);
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.timeout_ms = 600'000;
    const hocket_result result = create_in_vain(&options);
    child.say(fmt::format("{}, rank {}", hocket_result_name(result), last_cause().peer));
  });
  const auto store = url.empty() ? store_served_by(group.process(0)) : std::move(*open_store(url, creation_patience()));
  for (int rank = 0; rank < 3; ++rank) expect_to_come(*store, rank);
  group.signal(victim, SIGKILL);
  for (int rank = 0; rank < 3; ++rank) {
    if (rank != victim) {
      EXPECT_EQ(group.hear(rank), fmt::format("HOCKET_PEER_LOST, rank {}", victim));
    }
  }
  group.expect_success(victim);
}

TEST(CreationDeaths, AreKnownWhileOthersStillMeet) {
  for (int victim = 0; victim < 3; ++victim) {
    SCOPED_TRACE(fmt::format("rank {} dies", victim));
    expect_to_be_known("", victim);
    Daemon daemon({"--port", "0"});
    expect_to_be_known(fmt::format("tcp://127.0.0.1:{}", daemon.port()), victim);
  }
}

// How rank 2's creation ends, in words, where it comes when that of rank 0 has failed, since rank 1 died. Rank 0 has
// nothing else to do than to exit.
std::string end_of_late_rank() {
  ProcessGroup group(3, [&](Child& child) {
    if (child.index == 2) {
      EXPECT_EQ(child.hear(), "come");
    }
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.timeout_ms = child.index == 2 ? 1000 : 600'000;
    const hocket_result result = create_in_vain(&options);
    child.say(fmt::format("{}, rank {}", hocket_result_name(result), last_cause().peer));
    std::exit(testing::Test::HasFailure() ? 1 : 0);
  });
  auto store = store_served_by(group.process(0));
  expect_to_come(*store, 1);
  group.signal(1, SIGKILL);
  EXPECT_EQ(group.hear(0), "HOCKET_PEER_LOST, rank 1");
  group.tell(2, "come");
  std::string end = group.hear(2);
  store.reset();
  group.expect_success(1);
  return end;
}

TEST(CreationDeaths, AreToldToThoseThatComeLater) {
  std::string end;
  // Where this machine was so slow that rank 0 had left, too, when rank 2 came, it is tried again.
  for (int attempt = 0; attempt < 5 && end != "HOCKET_PEER_LOST, rank 1"; ++attempt) end = end_of_late_rank();
  EXPECT_EQ(end, "HOCKET_PEER_LOST, rank 1");
}

// Rank 0, which nobody sees but by its connections, dies while rank 1 waits for rank 2. No deadline can find it.
TEST(CreationDeaths, OfTheRankThatServesTheStoreAreKnownOutOfSight) {
  if (!may_hide()) GTEST_SKIP() << "this user may make no namespaces";
  ProcessGroup group(3, [&](Child& child) {
    if (child.index == 2) return;
    child.say(std::getenv("MASTER_PORT"));
    hide(child, [&] {
      std::jthread dies([&] {
        if (child.index == 0 && child.hear() == "die") ::_exit(died);
      });
      hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
      options.timeout_ms = 600'000;
      const hocket_result result = create_in_vain(&options);
      child.say(fmt::format("{}, rank {}", hocket_result_name(result), last_cause().peer));
    });
  });
  group.hear(1);
  const auto store = open_store("tcp://127.0.0.1:" + group.hear(0), creation_patience());
  ASSERT_TRUE(store.ok()) << store.status().message();
  for (const int rank : {0, 1}) expect_to_come(**store, rank);
  group.tell(0, "die");
  EXPECT_EQ(group.hear(1), "HOCKET_PEER_LOST, rank 0");
  group.expect_success(0);
}

TEST(CreationDeaths, AreKnownWhereAFileIsTheStore) {
  const TemporaryFolder folder;
  for (int victim = 0; victim < 3; ++victim) {
    SCOPED_TRACE(fmt::format("rank {} dies", victim));
    expect_to_be_known("file://" + folder.file(fmt::format("store{}", victim)), victim);
  }
}

}  // namespace
}  // namespace hocket::process_testing
