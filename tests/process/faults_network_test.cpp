// Networks that fail between hosts: links that are cut, slow or lossy while ranks work. Each rank has a host of its
// own.
#include <chrono>
#include <cstdlib>
#include <ostream>
#include <string>
#include <thread>

#include "src/store/store_server.hpp"
#include "src/store/tcp_store.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/test_hosts.hpp"

namespace hocket::process_testing {
namespace {

using testing::AnyOf;

hocket_comm_options with_timeout(std::int64_t timeout_ms) {
  hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
  options.timeout_ms = timeout_ms;
  return options;
}

// Creation that must fail; what it returned.
hocket_result fail_to_create(std::int64_t timeout_ms) {
  const hocket_comm_options options = with_timeout(timeout_ms);
  hocket_comm* comm = nullptr;
  const hocket_result result = hocket_comm_create(&comm, &options);
  EXPECT_EQ(comm, nullptr);
  hocket_comm_destroy(comm);
  return result;
}

// Checked calls of every kind, so that links are used which have not been used before.
void run_all_kinds(Child& child, int size, hocket_comm* comm, std::uint64_t salt) {
  for (const Collective collective : {Collective::allreduce, Collective::alltoall, Collective::allgather,
                                      Collective::broadcast, Collective::reduce_scatter}) {
    Call({.collective = collective, .count = 30'000, .salt = salt}, child.index, size).run(comm);
  }
}

// ---- cut links

struct Cut {
  const char* direction;  // seen from the host
  int host;
  std::size_t count;
};

void PrintTo(const Cut& cut, std::ostream* out) {
  *out << cut.direction << " of host " << cut.host << ", " << cut.count << " elements";
}

class CutLink : public testing::TestWithParam<Cut> {};

// A rank that is cut off names another one. A rank that hears nothing from it names it; where its words still come,
// theirs or its own verdict is the first.
TEST_P(CutLink, EndsTheAllreducesOfAllRanksByTheDeadline) {
  TestHosts hosts("--hosts 3 --rate 1gbit");
  if (!hosts) GTEST_SKIP() << hosts.problem();
  ProcessGroup group(3, [&](Child& child) {
    hosts.enter(child.index);
    const Comm comm;
    ASSERT_TRUE(comm);
    hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
    options.timeout_ms = 4000;
    int rounds = 0;
    const auto each = [&] {
      if (++rounds == 3) child.say("looping");
    };
    const hocket_result result = allreduce_until_failure(comm.get(), GetParam().count, each, &options);
    expect_result(result, HOCKET_TIMEOUT);
    const hocket_cause cause = last_cause();
    const bool silent = GetParam().direction != std::string("in");
    if (silent && child.index != GetParam().host) {
      EXPECT_EQ(cause.peer, GetParam().host) << cause.message;
    }
    EXPECT_THAT(cause.peer, AnyOf(0, 1, 2)) << "nobody is named: " << cause.message;
    EXPECT_STREQ(cause.operation, "allreduce");
    expect_result(hocket_barrier(comm.get(), nullptr, nullptr), result, "a later call");
  });
  group.hear_from_all("looping");
  hosts.change("cut", GetParam().host, std::string("--direction ") + GetParam().direction);
  group.expect_success();
}

INSTANTIATE_TEST_SUITE_P(Network, CutLink,
                         testing::Values(Cut{"both", 1, 1}, Cut{"both", 0, 1'000'000}, Cut{"in", 0, 1},
                                         Cut{"in", 1, 1'000'000}, Cut{"out", 1, 1}, Cut{"out", 0, 1'000'000}),
                         [](const auto& cut) {
                           return std::string(cut.param.direction) + "_of_host_" + std::to_string(cut.param.host) +
                                  "_count_" + std::to_string(cut.param.count);
                         });

// ---- bad links

// Allreduces go on while the parent spoils the link of host 1 and until it says so; every result is checked.
void work_over_spoilt_link(const std::string& verb, const std::string& rest) {
  TestHosts hosts("--hosts 3 --rate 1gbit");
  if (!hosts) GTEST_SKIP() << hosts.problem();
  ProcessGroup group(3, [&](Child& child) {
    hosts.enter(child.index);
    const hocket_comm_options options = with_timeout(60'000);
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    run_all_kinds(child, 3, comm.get(), 1);
    child.say("ready");
    EXPECT_EQ(child.hear(), "spoilt");
    for (std::uint64_t round = 0; round < 4; ++round) {
      run_all_kinds(child, 3, comm.get(), round);
      Call({.count = 300'000, .salt = round}, child.index, 3).run(comm.get());
      Call({.count = 1, .salt = round}, child.index, 3).run(comm.get());
    }
  });
  group.hear_from_all("ready");
  hosts.change(verb, 1, rest);
  for (int index = 0; index < group.size(); ++index) group.tell(index, "spoilt");
  group.expect_success();
}

TEST(BadLink, ThatLosesOnePercentGivesRightResults) {
  work_over_spoilt_link("lose", "1");
}

TEST(BadLink, ThatIsSlowGivesRightResults) {
  work_over_spoilt_link("rate", "50mbit");
}

// Shorter than any deadline: TCP repeats what was lost.
TEST(BadLink, ThatIsCutForAMomentGivesRightResults) {
  TestHosts hosts("--hosts 2");
  if (!hosts) GTEST_SKIP() << hosts.problem();
  ProcessGroup group(2, [&](Child& child) {
    hosts.enter(child.index);
    const Comm comm;
    ASSERT_TRUE(comm);
    child.say("ready");
    EXPECT_EQ(child.hear(), "cut");
    child.say("working");
    for (std::uint64_t round = 0; round < 20; ++round) run_all_kinds(child, 2, comm.get(), round);
  });
  group.hear_from_all("ready");
  hosts.change("cut", 1);
  for (const int index : {0, 1}) group.tell(index, "cut");
  group.hear_from_all("working");
  hosts.change("heal", 1);
  group.expect_success();
}

// ---- the store's host

// Three ranks on hosts of their own, and a store on the fourth, which `store` runs.
class StoreOnItsOwnHost : public testing::Test {
 protected:
  static constexpr int store = 3;

  // Called in each process; true in that of the store, after it has served until told to leave.
  static bool enter(Child& child, const TestHosts& hosts) {
    hosts.enter(child.index);
    ::setenv("WORLD_SIZE", "3", 1);
    const char* port = std::getenv("MASTER_PORT");
    ::setenv("HOCKET_STORE", ("tcp://" + TestHosts::ipv4(store) + ":" + port).c_str(), 1);
    if (child.index != store) return false;
    const Trust trust = Trust::from_environment().value();
    auto server =
        StoreServer::start(TestHosts::ipv4(store), static_cast<std::uint16_t>(std::atoi(port)), {.trust = trust});
    EXPECT_TRUE(server.ok()) << server.status().message();
    child.say("serving");
    for (std::string heard = child.hear(); heard != "leave"; heard = child.hear()) {
      // The key of a rank's card: says when the rank has said where it is.
      auto client = TcpStore::connect(TestHosts::ipv4(store), (*server)->port(),
                                      Deadline::after(std::chrono::seconds(60)), {}, trust);
      EXPECT_TRUE(client.ok() && (*client)->get(heard, Deadline::after(std::chrono::seconds(60))).ok()) << heard;
      child.say("there");
      if (heard.empty()) break;  // the parent has gone
    }
    return true;
  }
};

TEST_F(StoreOnItsOwnHost, IsNotNeededAfterCreation) {
  TestHosts hosts("--hosts 4");
  if (!hosts) GTEST_SKIP() << hosts.problem();
  ProcessGroup group(4, [&](Child& child) {
    if (enter(child, hosts)) return;
    {
      const hocket_comm_options options = with_timeout(10'000);
      const Comm comm(&options);
      ASSERT_TRUE(comm);
      child.say("created");
      EXPECT_EQ(child.hear(), "cut");
      run_all_kinds(child, 3, comm.get(), 1);
    }
    child.say("left");
  });
  EXPECT_EQ(group.hear(store), "serving");
  for (int index = 0; index < 3; ++index) EXPECT_EQ(group.hear(index), "created");
  hosts.change("cut", store);
  for (int index = 0; index < 3; ++index) group.tell(index, "cut");
  for (int index = 0; index < 3; ++index) EXPECT_EQ(group.hear(index), "left");
  group.tell(store, "leave");
  group.expect_success();
}

TEST_F(StoreOnItsOwnHost, CutOffBeforeCreationIsNamedByTheDeadline) {
  TestHosts hosts("--hosts 4");
  if (!hosts) GTEST_SKIP() << hosts.problem();
  ProcessGroup group(4, [&](Child& child) {
    if (child.index != store) {
      EXPECT_EQ(child.hear(), "create");
    }
    if (enter(child, hosts)) return;
    expect_result(fail_to_create(2000), HOCKET_STORE_UNREACHABLE);
    expect_message_names(TestHosts::ipv4(store));
    child.say("failed");
  });
  EXPECT_EQ(group.hear(store), "serving");
  hosts.change("cut", store);
  for (int index = 0; index < 3; ++index) group.tell(index, "create");
  for (int index = 0; index < 3; ++index) EXPECT_EQ(group.hear(index), "failed");
  group.tell(store, "leave");
  group.expect_success();
}

// The others wait for the rank that cannot reach the store, or be reached.
TEST_F(StoreOnItsOwnHost, MissesTheRankWhoseHostIsCutOff) {
  TestHosts hosts("--hosts 4");
  if (!hosts) GTEST_SKIP() << hosts.problem();
  hosts.change("cut", 1);
  ProcessGroup group(4, [&](Child& child) {
    if (child.index != store) {
      EXPECT_EQ(child.hear(), "create");
    }
    if (enter(child, hosts)) return;
    expect_result(fail_to_create(6000), child.index == 1 ? HOCKET_STORE_UNREACHABLE : HOCKET_TIMEOUT);
    expect_message_names(child.index == 1 ? TestHosts::ipv4(store) : "missing rank 1");
    child.say("failed");
  });
  EXPECT_EQ(group.hear(store), "serving");
  for (int index = 0; index < 3; ++index) group.tell(index, "create");
  for (int index = 0; index < 3; ++index) EXPECT_EQ(group.hear(index), "failed");
  group.tell(store, "leave");
  group.expect_success();
}

// Cut after its rank has said where it is: nobody can connect to it any more.
TEST_F(StoreOnItsOwnHost, CannotHelpARankThatIsCutOffWhileOthersJoin) {
  TestHosts hosts("--hosts 4");
  if (!hosts) GTEST_SKIP() << hosts.problem();
  ProcessGroup group(4, [&](Child& child) {
    if (child.index == 2) {
      EXPECT_EQ(child.hear(), "create");
    }
    if (enter(child, hosts)) return;
    child.say("creating");
    const hocket_result result = fail_to_create(10'000);  // rank 2 is there before, also on a busy machine
    EXPECT_THAT(result, AnyOf(HOCKET_TIMEOUT, HOCKET_STORE_UNREACHABLE)) << hocket_last_error();
    expect_message_names(child.index == 1 ? TestHosts::ipv4(store) : "rank 1 ");
    child.say("failed");
  });
  EXPECT_EQ(group.hear(store), "serving");
  for (const int index : {0, 1}) {
    EXPECT_EQ(group.hear(index), "creating");
    group.tell(store, "default/1/card/" + std::to_string(index));
    EXPECT_EQ(group.hear(store), "there");
  }
  hosts.change("cut", 1);
  group.tell(2, "create");
  EXPECT_EQ(group.hear(2), "creating");
  for (int index = 0; index < 3; ++index) EXPECT_EQ(group.hear(index), "failed");
  group.tell(store, "leave");
  group.expect_success();
}

}  // namespace
}  // namespace hocket::process_testing
