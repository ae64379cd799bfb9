// Hosts with several networks and families of addresses: how ranks find a way to each other, and which one they take.
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/process/program.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/test_hosts.hpp"

namespace hocket::process_testing {
namespace {

constexpr std::size_t networks_count = 250'000;

void set(const char* variable, const std::string& value) {
  ::setenv(variable, value.c_str(), 1);
}

void create_and_allreduce(Child& child) {
  hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
  options.timeout_ms = 30'000;
  const Comm comm(&options);
  ASSERT_TRUE(comm);
  for (std::uint64_t round = 0; round < 3; ++round) {
    Call({.count = networks_count, .salt = round}, child.index, child.size).run(comm.get());
  }
  Call({.collective = Collective::alltoall, .count = 1000}, child.index, child.size).run(comm.get());
}

// What this host has received through an interface.
std::uint64_t bytes_received(const std::string& interface) {
  std::ifstream table("/proc/self/net/dev");
  std::string line;
  while (std::getline(table, line)) {
    std::istringstream fields(line);
    std::string name;
    std::uint64_t bytes = 0;
    fields >> name >> bytes;
    if (name == interface + ":") return bytes;
  }
  ADD_FAILURE() << "no interface " << interface;
  return 0;
}

// Connections that this host has now, by /proc/net/tcp or tcp6; an IPv4 one that was accepted counts as the latter.
int connections(const char* table) {
  std::ifstream file(std::string("/proc/self/net/") + table);
  std::string line, number, local, remote, state;
  std::getline(file, line);
  int established = 0;
  while (std::getline(file, line)) {
    std::istringstream(line) >> number >> local >> remote >> state;
    if (state == "01") ++established;
  }
  return established;
}

// ---- several networks

// Host 1 can be reached through its second network alone, where the store is too.
TEST(Networks, ADeadOneIsLeftForAnother) {
  TestHosts hosts("--hosts 3 --networks 2");
  if (!hosts) GTEST_SKIP() << hosts.problem();
  hosts.change("cut", 1, "--network 0");
  run_ranks(3, [&](Child& child) {
    hosts.enter(child.index);
    set("MASTER_ADDR", TestHosts::ipv4(0, 1));
    create_and_allreduce(child);
  });
}

struct Names {
  const char* names;
  const char* used;
  const char* unused;
};

TEST(Networks, AreChosenByName) {
  TestHosts hosts("--hosts 3 --networks 2");
  if (!hosts) GTEST_SKIP() << hosts.problem();
  for (const Names& choice : {Names{"eth1", "eth1", "eth0"}, Names{"=eth0", "eth0", "eth1"},
                              Names{"^eth0,lo", "eth1", "eth0"}, Names{"ib,eth0", "eth0", "eth1"}}) {
    SCOPED_TRACE(choice.names);
    ProcessGroup group(3, [&](Child& child) {
      hosts.enter(child.index);
      set("MASTER_ADDR", TestHosts::ipv4(0, choice.used[3] - '0'));
      set("HOCKET_SOCKET_IFNAME", choice.names);
      const std::uint64_t used = bytes_received(choice.used);
      const std::uint64_t unused = bytes_received(choice.unused);
      child.say("ready");
      EXPECT_EQ(child.hear(), "go");
      create_and_allreduce(child);
      EXPECT_GT(bytes_received(choice.used) - used, networks_count * sizeof(float));
      EXPECT_LT(bytes_received(choice.unused) - unused, 10'000U);
    });
    group.hear_from_all("ready");
    for (int index = 0; index < 3; ++index) group.tell(index, "go");
    group.expect_success();
  }
}

// Each host has a network that the other is not on.
TEST(Networks, InCommonThereMustBeOne) {
  TestHosts hosts("--hosts 2 --networks 2 --families ipv4");
  if (!hosts) GTEST_SKIP() << hosts.problem();
  hosts.change("exec", 0, "ip address flush dev eth1");
  hosts.change("exec", 1, "ip address flush dev eth0");
  const TemporaryFolder folder;
  run_ranks(2, [&](Child& child) {
    hosts.enter(child.index);
    set("HOCKET_STORE", "file://" + folder.file("store"));
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.timeout_ms = 3000;
    hocket_comm* comm = nullptr;
    const hocket_result result = hocket_comm_create(&comm, &options);
    if (child.index == 0 && result == HOCKET_TIMEOUT) {  // which is dialled, and has not heard from rank 1 in time
      expect_message_names("rank 1 did not connect to rank 0 in time");
    } else {
      expect_result(result, HOCKET_PEER_LOST);
      expect_message_names("rank 0 cannot be reached (" + TestHosts::ipv4(0) + ":");
      expect_message_names("unreachable");
    }
  });
}

// By the rank that was told of them; the other one hears why it does not come.
TEST(Networks, WhoseNameDoesNotExistAreListed) {
  TestHosts hosts("--hosts 2 --networks 2");
  if (!hosts) GTEST_SKIP() << hosts.problem();
  run_ranks(2, [&](Child& child) {
    hosts.enter(child.index);
    if (child.index == 1) set("HOCKET_SOCKET_IFNAME", "ib0");
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.timeout_ms = 30'000;
    hocket_comm* comm = nullptr;
    expect_result(hocket_comm_create(&comm, &options), HOCKET_INVALID_ENVIRONMENT);
    expect_message_names("HOCKET_SOCKET_IFNAME is \"ib0\"");
    for (const std::string& address :
         {TestHosts::ipv4(1), TestHosts::ipv6(1), TestHosts::link_local(1), TestHosts::ipv4(1, 1)}) {
      expect_message_names(address);
    }
  });
}

// ---- families

TEST(Families, AreChosenByName) {
  TestHosts hosts("--hosts 2");
  if (!hosts) GTEST_SKIP() << hosts.problem();
  for (const bool ipv4 : {true, false}) {
    SCOPED_TRACE(ipv4 ? "ipv4" : "ipv6");
    ProcessGroup group(2, [&](Child& child) {
      hosts.enter(child.index);
      set("MASTER_ADDR", ipv4 ? TestHosts::ipv4(0) : TestHosts::ipv6(0));
      set("HOCKET_SOCKET_FAMILY", ipv4 ? "ipv4" : "ipv6");
      {
        const Comm comm;
        ASSERT_TRUE(comm);
        Call({.count = networks_count}, child.index, child.size).run(comm.get());
        if (child.index == 1) {  // which dials
          EXPECT_GE(connections(ipv4 ? "tcp" : "tcp6"), 1);
          EXPECT_EQ(connections(ipv4 ? "tcp6" : "tcp"), 0);
        }
        child.say("looked");
        EXPECT_EQ(child.hear(), "leave");
      }
    });
    group.hear_from_all("looked");
    for (const int index : {0, 1}) group.tell(index, "leave");
    group.expect_success();
  }
}

TEST(Families, EachServesAlone) {
  for (const char* family : {"ipv4", "ipv6", "link-local"}) {
    SCOPED_TRACE(family);
    TestHosts hosts(std::string("--hosts 3 --networks 2 --families ") + family);
    if (!hosts) GTEST_SKIP() << hosts.problem();
    run_ranks(3, [&](Child& child) {
      hosts.enter(child.index);
      create_and_allreduce(child);
    });
  }
}

// Host 0 has both families, host 1 only IPv6, host 2 both and an IPv4 network of its own.
TEST(Families, AreMixed) {
  TestHosts hosts("--hosts 3 --families ipv4,ipv6");
  if (!hosts) GTEST_SKIP() << hosts.problem();
  hosts.change("exec", 1, "ip -4 address flush dev eth0");
  hosts.change("exec", 2, "ip -4 address add 10.88.0.3/24 dev eth0");
  run_ranks(3, [&](Child& child) {
    hosts.enter(child.index);
    set("MASTER_ADDR", TestHosts::ipv6(0));
    create_and_allreduce(child);
  });
}

}  // namespace
}  // namespace hocket::process_testing
