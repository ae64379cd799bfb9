// Communicators that are created while the caller does other things: they come about, fail and are given up.
#include <cstdlib>
#include <string>
#include <thread>

#include "tests/process/program.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

// A handle that is given back in time.
class Started {
 public:
  explicit Started(const hocket_comm_options* options = nullptr) {
    expect_result(hocket_comm_create_start(&handle_, options), HOCKET_OK);
  }
  Started(const Comm& parent, int color, int key) {
    expect_result(hocket_comm_split_start(parent.get(), color, key, &handle_, nullptr), HOCKET_OK);
  }
  ~Started() { give_up(); }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  hocket_result test() { return hocket_creation_test(handle_); }
  hocket_comm* wait() {
    hocket_comm* comm = nullptr;
    expect_result(hocket_creation_wait(handle_, 0, &comm), HOCKET_OK);
    return comm;
  }
  void expect_failure(hocket_result code) {
    hocket_comm* comm = nullptr;
    expect_result(hocket_creation_wait(handle_, 0, &comm), code);
    EXPECT_EQ(comm, nullptr);
    expect_result(hocket_creation_test(handle_), code, "a creation that failed");
  }
  void give_up() {
    EXPECT_EQ(hocket_creation_destroy(handle_), HOCKET_OK);
    handle_ = nullptr;
  }
  hocket_creation* get() { return handle_; }

 private:
  hocket_creation* handle_ = nullptr;
};

void creation_use(const Comm& comm, Rank rank, Rank size) {
  ASSERT_TRUE(comm);
  Call({.count = 1000}, rank, size).run(comm.get());
}

class CreationStart : public testing::TestWithParam<Ranks> {};

// The last rank comes when the others have seen that they can do other things meanwhile, and by the call that waits.
TEST_P(CreationStart, GoesOnWhileTheCallerDoesOtherThings) {
  ProcessGroup group(GetParam(), [](Child& child) {
    if (child.index == child.size - 1) {
      EXPECT_EQ(child.hear(), "come");
      const Comm comm;
      return creation_use(comm, child.index, child.size);
    }
    Started creation;
    expect_result(creation.test(), HOCKET_IN_PROGRESS);
    hocket_comm* none = nullptr;
    expect_result(hocket_creation_wait(creation.get(), 20, &none), HOCKET_IN_PROGRESS);
    child.say("waiting");
    while (creation.test() == HOCKET_IN_PROGRESS) std::this_thread::yield();
    expect_result(creation.test(), HOCKET_OK);
    const Comm comm(creation.wait());
    expect_result(hocket_creation_wait(creation.get(), 0, &none), HOCKET_INVALID_ARGUMENT);
    creation.give_up();
    creation_use(comm, child.index, child.size);
  });
  for (int index = 0; index < group.size() - 1; ++index) EXPECT_EQ(group.hear(index), "waiting");
  group.tell(group.size() - 1, "come");
  group.expect_success();
}

TEST_P(CreationStart, OfSplitsBesideWorkOnOthers) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm parent, other;
    ASSERT_TRUE(parent && other);
    Call before({.collective = Collective::alltoall, .count = 20'000}, child.index, child.size);
    hocket_work* work = nullptr;
    expect_result(before.issue(parent.get(), &work), HOCKET_OK);
    const bool even = child.index % 2 == 0;
    Started creation(parent, even ? 0 : HOCKET_NO_COLOR, -child.index);
    for (std::uint64_t round = 1; round <= 10; ++round) creation_use(other, child.index, child.size);
    const Comm made(creation.wait());
    EXPECT_EQ(static_cast<bool>(made), even);
    if (even) creation_use(made, ((child.size - 1) / 2) - child.index / 2, (child.size + 1) / 2);
    expect_result(hocket_work_wait(work, 0), HOCKET_OK);
    before.expect_correct();
    hocket_work_release(work);
    creation_use(parent, child.index, child.size);
  });
}

// One rank gives up a split that another one has not joined yet.
TEST_P(CreationStart, GivenUpSplitsBreakTheParent) {
  ProcessGroup group(GetParam(), [](Child& child) {
    const Comm parent;
    ASSERT_TRUE(parent);
    child.say("here");
    EXPECT_EQ(child.hear(), "all are");
    if (child.index == child.size - 1) {
      EXPECT_EQ(child.hear(), "go on");
    } else {
      Started creation(parent, 0, 0);
      if (child.index == 0) {
        creation.give_up();
        child.say("gave up");
      } else {
        creation.expect_failure(HOCKET_ABORTED);
      }
    }
    hocket_comm* made = nullptr;
    expect_result(hocket_comm_split(parent.get(), 0, 0, &made, nullptr), HOCKET_ABORTED);
    EXPECT_EQ(last_cause().peer, 0) << hocket_last_error();
    expect_message_names("a split was given up");
  });
  group.hear_from_all("here");
  for (int index = 0; index < group.size(); ++index) group.tell(index, "all are");
  EXPECT_EQ(group.hear(0), "gave up");
  group.tell(group.size() - 1, "go on");
  group.expect_success();
}

INSTANTIATE_TEST_SUITE_P(Of, CreationStart, testing::Values(2, 3, 5, "0011"), testing::PrintToStringParamName());

TEST(CreationStartAlone, GivenUpAnywhereLeavesNothingBehind) {
  run_ranks(1, [](Child&) {
    ::setenv("WORLD_SIZE", "2", 1);
    std::thread([] {}).join();  // with the first one, a sanitizer starts one of its own
    const int threads = running_threads(), descriptors = open_descriptors();
    for (const char* rank : {"0", "1"}) {  // who serves the store, and who finds none
      ::setenv("RANK", rank, 1);
      for (const int milliseconds : {0, 1, 30}) {
        Started creation;
        hocket_comm* comm = nullptr;
        if (milliseconds > 0) {
          expect_result(hocket_creation_wait(creation.get(), milliseconds, &comm), HOCKET_IN_PROGRESS);
        }
        creation.give_up();
        EXPECT_EQ(running_threads(), threads);
        EXPECT_EQ(open_descriptors(), descriptors);
      }
    }
    ::setenv("WORLD_SIZE", "1", 1);
    ::setenv("RANK", "0", 1);
    const Comm comm(Started().wait());
    creation_use(comm, 0, 1);
    { const Started nobody_takes_it; }
    EXPECT_EQ(running_threads(), threads);
    EXPECT_EQ(open_descriptors(), descriptors);
  });
}

// Of three ranks one does not come. When another one gives up, the third need not wait for its deadline.
TEST(CreationStartAlone, WhoWaitsLearnsThatAnotherGaveUp) {
  const TemporaryFolder folder;
  ProcessGroup group(2, [&](Child& child) {
    ::setenv("HOCKET_STORE", ("file://" + folder.file("store")).c_str(), 1);
    ::setenv("WORLD_SIZE", "3", 1);
    Started creation;
    hocket_comm* comm = nullptr;
    child.say("started");
    EXPECT_EQ(child.hear(), "go on");
    expect_result(hocket_creation_wait(creation.get(), 300, &comm), HOCKET_IN_PROGRESS);
    child.say("waited");
    EXPECT_EQ(child.hear(), "go on");
    if (child.index == 0) return;
    creation.expect_failure(HOCKET_ABORTED);
    expect_message_names("rank 0 gave up");
  });
  for (const char* said : {"started", "waited"}) {
    group.hear_from_all(said);
    for (const int index : {0, 1}) group.tell(index, "go on");
  }
  group.expect_success();
}

TEST(CreationStartAlone, FailsAsTheCallThatWaits) {
  run_ranks(1, [](Child&) {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.world_size = 2;
    options.timeout_ms = 200;
    Started late(&options);
    late.expect_failure(HOCKET_TIMEOUT);
    expect_message_names("missing rank 1");
    hocket_creation* creation = nullptr;
    options.rank = 7;
    expect_result(hocket_comm_create_start(&creation, &options), HOCKET_INVALID_ARGUMENT);
    EXPECT_EQ(creation, nullptr);
    expect_result(hocket_comm_create_start(nullptr, nullptr), HOCKET_INVALID_ARGUMENT);
    expect_result(hocket_comm_split_start(nullptr, 0, 0, &creation, nullptr), HOCKET_INVALID_ARGUMENT);
    expect_result(hocket_creation_test(nullptr), HOCKET_INVALID_ARGUMENT);
    hocket_comm* comm = nullptr;
    expect_result(hocket_creation_wait(nullptr, 0, &comm), HOCKET_INVALID_ARGUMENT);
    expect_result(hocket_creation_wait(late.get(), 0, nullptr), HOCKET_INVALID_ARGUMENT);
    EXPECT_EQ(hocket_creation_destroy(nullptr), HOCKET_OK);
  });
}

}  // namespace
}  // namespace hocket::process_testing
