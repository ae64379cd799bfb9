// New processes join the ranks of a communicator.
#include "hocket/join.h"

#include <signal.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "hocket/hocket.hpp"
#include "tests/process/support/joining.hpp"

namespace hocket::process_testing {
namespace {

class Join : public testing::TestWithParam<std::tuple<SharedStore, std::string>> {
 protected:
  void SetUp() override { shared_.emplace(std::get<0>(GetParam()), std::get<1>(GetParam())); }

  std::optional<WithSharedStore> shared_;
};

TEST_P(Join, TakesNewcomersInBehindTheMembersAndClearsTheStore) {
  for (const auto& [size, old] : {std::pair{3, 2}, {5, 3}, {3, 1}}) {
    ProcessGroup group = shared_->fork(size, [&](Child& child) {
      const bool is_member = child.index < old;
      const auto before = is_member ? members(child.index, old) : newcomer();
      const Comm joined(join(before->get(), newcomers(size - old)));
      expect_whole(joined.get(), size, old);
      child.say("joined");
      EXPECT_EQ(child.hear(), "end");
    });
    group.hear_from_all("joined");
    EXPECT_EQ(shared_->open()->list("default/join/", patience()).value(), std::vector<std::string>());
    for (int index = 0; index < size; ++index) group.tell(index, "end");
    group.expect_success();
  }
}

TEST_P(Join, WaitsForNobodyWhereNobodyHasToCome) {
  shared_->run(2, [](Child& child) {
    const auto comm = members(child.index, 2);
    EXPECT_EQ(join(comm->get(), newcomers(0)), nullptr);
    expect_result(hocket_barrier(comm->get(), nullptr, nullptr), HOCKET_OK);
  });
}

TEST_P(Join, EndsAtItsDeadlineAndTheMembersGoOn) {
  shared_->run(3, [](Child& child) {
    hocket_join_options two = newcomers(2);
    two.timeout_ms = 1000;
    if (child.index == 2) {
      EXPECT_EQ(join(nullptr, two, HOCKET_TIMEOUT), nullptr);
      return;
    }
    const auto comm = members(child.index, 2);
    EXPECT_EQ(join(comm->get(), two, HOCKET_TIMEOUT), nullptr);
    expect_message_names("of 2 newcomers came to the joining point \"default\"");
    expect_result(hocket_barrier(comm->get(), nullptr, nullptr), HOCKET_OK);
  });
}

TEST_P(Join, ReplacesRanksThatWereKilled) {
  ProcessGroup group = shared_->fork(4, [](Child& child) {
    std::unique_ptr<Comm> comm;
    if (child.index < 3) {
      const auto first = members(child.index, 3);
      expect_result(hocket_barrier(first->get(), nullptr, nullptr), HOCKET_OK);
      if (child.index == 1) ::kill(::getpid(), SIGKILL);
      EXPECT_EQ(allreduce_until_failure(first->get(), 1000, [] {}), HOCKET_PEER_LOST);
      hocket_comm* handle = nullptr;
      expect_result(hocket_comm_shrink(first->get(), &handle, nullptr), HOCKET_OK);
      comm = std::make_unique<Comm>(handle);
    }
    const Comm joined(join(comm ? comm->get() : nullptr, newcomers(1)));
    expect_whole(joined.get(), 3, 2);
    // What was joined is shrunk as any other.
    if (child.index == 0) {
      child.say("joined");
      EXPECT_EQ(child.hear(), "end");
    }
    if (child.index == 2) ::_exit(0);
    EXPECT_EQ(allreduce_until_failure(joined.get(), 1000, [] {}), HOCKET_PEER_LOST);
    hocket_comm* handle = nullptr;
    expect_result(hocket_comm_shrink(joined.get(), &handle, nullptr), HOCKET_OK);
    const Comm shrunk(handle);
    std::int32_t size = 0;
    EXPECT_EQ(hocket_comm_size(handle, &size), HOCKET_OK);
    EXPECT_EQ(size, 2);
  });
  EXPECT_EQ(group.hear(0), "joined");
  group.tell(0, "end");
  group.expect_success(1);
}

TEST_P(Join, GivesEachNewcomerToOneOfTwoCommunicators) {
  shared_->run(6, [](Child& child) {
    const char* name = child.index < 2 ? "one" : "another";
    const auto before = child.index < 4 ? members(child.index % 2, 2, name) : newcomer();
    const Comm joined(join(before->get(), newcomers(1)));
    expect_whole(joined.get(), 3, 2);
  });
}

TEST_P(Join, IsStartedInTheBackgroundAndInCpp) {
  shared_->run(3, [](Child& child) {
    if (child.index == 2) {
      { const Creation given_up = Creation::come_in({.point = "nobody comes"}); }
      Communicator joined = Creation::come_in().wait().value();
      EXPECT_EQ(joined.rank(), 2);
      EXPECT_EQ(joined.previous_rank(2), -1);
      joined.barrier();
      return;
    }
    Communicator comm = Communicator::create({.world_size = 2, .rank = child.index});
    EXPECT_FALSE(comm.take_in({.newcomers_min = 0, .newcomers_max = 1, .point = "nobody comes here"}).has_value());
    Communicator joined = Creation::take_in(comm).wait().value();
    EXPECT_EQ(joined.size(), 3);
    joined.barrier();
    comm.barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(Over, Join,
                         testing::Values(std::tuple(SharedStore::file, "auto"), std::tuple(SharedStore::daemon, "auto"),
                                         std::tuple(SharedStore::daemon, "tcp")),
                         [](const auto& of) {
                           return std::string(std::get<0>(of.param) == SharedStore::file ? "file_" : "daemon_") +
                                  std::get<1>(of.param);
                         });

}  // namespace
}  // namespace hocket::process_testing
