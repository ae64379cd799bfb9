// New processes join the ranks of a communicator.
#include "hocket/join.h"

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>

#include "tests/process/program.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

// Every rank of the communicator adds one, and checks who has become what.
void expect_whole(hocket_comm* comm, int size, int members) {
  ASSERT_NE(comm, nullptr);
  std::int32_t sum = 1, rank = -1;
  expect_result(hocket_allreduce(&sum, &sum, 1, HOCKET_INT32, HOCKET_SUM, comm, nullptr, nullptr), HOCKET_OK);
  EXPECT_EQ(sum, size);
  for (std::int32_t now = 0; now < size; ++now) {
    std::int32_t previous = -2;
    expect_result(hocket_comm_previous_rank(comm, now, &previous), HOCKET_OK);
    EXPECT_EQ(previous, now < members ? now : -1);
  }
  EXPECT_EQ(hocket_comm_rank(comm, &rank), HOCKET_OK);
  expect_result(hocket_barrier(comm, nullptr, nullptr), HOCKET_OK);
}

hocket_comm* join(hocket_comm* comm, int newcomers, hocket_result expected = HOCKET_OK, std::int64_t timeout_ms = 0) {
  hocket_join_options options = HOCKET_JOIN_OPTIONS_INIT;
  options.newcomers_min = newcomers;
  options.newcomers_max = newcomers == 0 ? 8 : newcomers;
  options.timeout_ms = timeout_ms;
  hocket_comm* joined = nullptr;
  expect_result(hocket_comm_join(comm, &joined, &options, nullptr), expected);
  return joined;
}

// A communicator of the first `size` processes, which meet in the store that all use.
std::unique_ptr<Comm> first_members(const Child& child, int size) {
  hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
  options.world_size = size;
  options.rank = child.index;
  return std::make_unique<Comm>(&options);
}

// Runs processes that share a store in a file.
class Join : public testing::Test {
 protected:
  void run(int size, const ProcessGroup::Body& body, int killed = -1) const {
    ProcessGroup group(size, [&](Child& child) {
      ::setenv("HOCKET_STORE", ("file://" + folder_.file("store")).c_str(), 1);
      body(child);
    });
    group.expect_success(killed);
  }

 private:
  const TemporaryFolder folder_;
};

TEST_F(Join, TakesNewcomersInBehindTheMembers) {
  for (const auto& [size, members] : {std::pair{3, 2}, {5, 3}, {3, 1}}) {
    run(size, [size, members](Child& child) {
      const auto before = child.index < members ? first_members(child, members)
                                                : std::make_unique<Comm>(static_cast<hocket_comm*>(nullptr));
      const Comm joined(join(before->get(), size - members));
      expect_whole(joined.get(), size, members);
    });
  }
}

TEST_F(Join, WaitsForNobodyWhereNobodyHasToCome) {
  run(2, [](Child& child) {
    const auto comm = first_members(child, 2);
    EXPECT_EQ(join(comm->get(), 0), nullptr);
    EXPECT_EQ(hocket_barrier(comm->get(), nullptr, nullptr), HOCKET_OK);
  });
}

TEST_F(Join, EndsAtItsDeadlineAndTheMembersGoOn) {
  run(3, [](Child& child) {
    if (child.index == 2) {
      EXPECT_EQ(join(nullptr, 1, HOCKET_TIMEOUT, 200), nullptr);
      return;
    }
    const auto comm = first_members(child, 2);
    EXPECT_EQ(join(comm->get(), 2, HOCKET_TIMEOUT, 400), nullptr);
    expect_message_names("newcomers came to the joining point");
    EXPECT_EQ(hocket_barrier(comm->get(), nullptr, nullptr), HOCKET_OK);
  });
}

TEST_F(Join, ReplacesARankThatWasKilled) {
  run(
      4,
      [](Child& child) {
        if (child.index == 3) {
          const Comm joined(join(nullptr, 1));
          expect_whole(joined.get(), 3, 2);
          return;
        }
        const auto comm = first_members(child, 3);
        EXPECT_EQ(hocket_barrier(comm->get(), nullptr, nullptr), HOCKET_OK);
        if (child.index == 1) ::kill(::getpid(), SIGKILL);
        EXPECT_EQ(allreduce_until_failure(comm->get(), 1000, [] {}), HOCKET_PEER_LOST);
        hocket_comm* handle = nullptr;
        expect_result(hocket_comm_shrink(comm->get(), &handle, nullptr), HOCKET_OK);
        const Comm shrunk(handle);
        const Comm joined(join(handle, 1));
        expect_whole(joined.get(), 3, 2);
      },
      1);
}

}  // namespace
}  // namespace hocket::process_testing
