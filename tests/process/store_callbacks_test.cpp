// Ranks that meet in a store of the caller's.
#include <filesystem>

#include "src/store/file_store.hpp"
#include "tests/conformance/store_callbacks.hpp"
#include "tests/process/program.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

constexpr Rank store_callbacks_size = 3;

// What a program has of its own: here, a file, with a name for each job.
std::unique_ptr<Store> open_file() {
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("hocket-caller-{}", std::getenv("MASTER_PORT"));
  auto opened = FileStore::open(path, Deadline::after(std::chrono::seconds(60)));
  EXPECT_TRUE(opened.ok()) << opened.status().message();
  return std::move(*opened);
}

TEST(StoreCallbacks, AreWhereRanksMeet) {
  run_ranks(store_callbacks_size, [](Child& child) {
    const auto store = open_file();
    hocket_store_callbacks callbacks = callbacks_on(*store);
    if (child.index == 1) callbacks.list = nullptr;
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.store_callbacks = &callbacks;
    for (int round = 0; round < 2; ++round) {
      hocket_comm* made = nullptr;
      expect_result(hocket_comm_create(&made, &options), HOCKET_OK);
      ASSERT_NE(made, nullptr);
      Call({.count = 1000}, child.index, store_callbacks_size).run(made);
      EXPECT_EQ(hocket_comm_destroy(made), HOCKET_OK);
    }
    std::filesystem::remove(store->url().substr(std::string("file://").size()));
  });
}

// With and without a store that can list its keys.
TEST(StoreCallbacks, ThatNobodyElseUsesLeaveATimeoutWhichNamesTheMissing) {
  run_ranks(1, [](Child&) {
    const auto store = open_file();
    hocket_store_callbacks callbacks = callbacks_on(*store);
    for (int round = 0; round < 2; ++round) {
      hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
      options.world_size = store_callbacks_size;
      options.timeout_ms = 300;
      options.store_callbacks = &callbacks;
      hocket_comm* made = nullptr;
      expect_result(hocket_comm_create(&made, &options), HOCKET_TIMEOUT);
      expect_message_names("missing rank 1, 2");
      callbacks.list = nullptr;
    }
    std::filesystem::remove(store->url().substr(std::string("file://").size()));
  });
}

hocket_result refuse(void*, hocket_bytes, const hocket_bytes*, hocket_bytes, std::int64_t, hocket_bytes_receiver,
                     void*) {
  return HOCKET_STORE_UNREACHABLE;
}

TEST(StoreCallbacks, ThatFailEndTheCreationAtOnce) {
  run_ranks(1, [](Child&) {
    const auto store = open_file();
    hocket_store_callbacks callbacks = callbacks_on(*store);
    callbacks.compare_and_set = refuse;
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.world_size = store_callbacks_size;
    options.store_callbacks = &callbacks;
    hocket_comm* made = nullptr;
    expect_result(hocket_comm_create(&made, &options), HOCKET_STORE_UNREACHABLE);
    expect_message_names("the caller's store");
    std::filesystem::remove(store->url().substr(std::string("file://").size()));
  });
}

TEST(StoreCallbacks, ThatAreIncompleteOrGivenWithAnotherStoreAreRefused) {
  run_ranks(1, [](Child&) {
    const auto store = open_file();
    hocket_store_callbacks callbacks = callbacks_on(*store);
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.store_callbacks = &callbacks;
    options.store = "file:///elsewhere";
    hocket_comm* made = nullptr;
    expect_result(hocket_comm_create(&made, &options), HOCKET_INVALID_ARGUMENT);
    expect_message_names("store_callbacks");
    options.store = nullptr;
    callbacks.remove = nullptr;
    expect_result(hocket_comm_create(&made, &options), HOCKET_INVALID_ARGUMENT);
    expect_message_names("remove");
    std::filesystem::remove(store->url().substr(std::string("file://").size()));
  });
}

}  // namespace
}  // namespace hocket::process_testing
