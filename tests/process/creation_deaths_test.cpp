// Ranks that are killed while communicators are created: every survivor names the one that died.
#include <signal.h>

#include <optional>
#include <string>

#include "src/store/file_store.hpp"
#include "tests/conformance/store_callbacks.hpp"
#include "tests/conformance/watched_store.hpp"
#include "tests/process/program.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

constexpr int size = 4;

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

TEST(CreationDeaths, AreNamedByEverySurvivorAndHarmNoLaterCreation) {
  const TemporaryFolder folder;
  const std::string path = folder.file("store");
  for (int victim = 0; victim < size; ++victim) {
    for (const int request : {0, 2, 3, 6}) {
      SCOPED_TRACE(fmt::format("rank {} died before its request {}", victim, request));
      ProcessGroup group(size, [&](Child& child) {
        const auto dies = child.index == victim ? std::optional(request) : std::nullopt;
        const hocket_result result = create_and_die(path, dies, 1500);
        EXPECT_TRUE(result == HOCKET_TIMEOUT || result == HOCKET_PEER_LOST) << hocket_last_error();
        EXPECT_EQ(last_cause().peer, victim) << hocket_last_error();
      });
      group.expect_success(victim);
      run_ranks(size, [&](Child&) { expect_result(create_and_die(path, std::nullopt, 60'000), HOCKET_OK); });
      if (HasFailure()) return;
    }
  }
}

TEST(CreationDeaths, OfTheRankThatServesTheStoreAreNamed) {
  ProcessGroup group(3, [](Child& child) {
    if (child.index == 2) return;
    child.say("here");
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.timeout_ms = child.index == 0 ? 60'000 : 4000;
    expect_result(create_in_vain(&options), HOCKET_STORE_UNREACHABLE);
    EXPECT_EQ(last_cause().peer, 0) << hocket_last_error();
  });
  EXPECT_EQ(group.hear(0), "here");
  EXPECT_EQ(group.hear(1), "here");
  EXPECT_FALSE(listening_ports(group.process(0)).empty());
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // rank 1 has most likely met the store
  group.signal(0, SIGKILL);
  group.expect_success(0);
}

}  // namespace
}  // namespace hocket::process_testing
