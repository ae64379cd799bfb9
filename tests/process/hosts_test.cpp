// Ranks on several hosts: which of them share memory, and what crosses between hosts that have networks of their own.
// What ranks on simulated hosts compute, and how they fail, is tested in the suites of all collectives.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/test_hosts.hpp"

namespace hocket::process_testing {
namespace {

class Hosts : public testing::TestWithParam<Ranks> {};

// Every rank has linked with every other. Whoever shares a host shares memory, and nobody else does: no link and no
// window crosses.
TEST_P(Hosts, ShareMemoryWithinAndNothingBetween) {
  ProcessGroup group(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    Call({.collective = Collective::alltoall, .count = 1000}, child.index, child.size).run(comm.get());
    std::string files;
    for (const std::string& file : shared_memory_files()) files += file + " ";
    child.say("files: " + files);
    EXPECT_EQ(child.hear(), "leave");
  });
  std::vector<std::set<std::string>> files;
  for (int index = 0; index < group.size(); ++index) {
    std::istringstream line(group.hear(index));
    std::string word;
    line >> word;
    EXPECT_EQ(word, "files:");
    files.emplace_back();
    while (line >> word) files.back().insert(word);
  }
  for (std::size_t a = 0; a < files.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      std::vector<std::string> common;
      std::ranges::set_intersection(files[a], files[b], std::back_inserter(common));
      const bool same_host = GetParam().hosts[a] == GetParam().hosts[b];
      EXPECT_EQ(!common.empty(), same_host) << "ranks " << a << " and " << b;
    }
  }
  for (int index = 0; index < group.size(); ++index) group.tell(index, "leave");
  group.expect_success();
}

INSTANTIATE_TEST_SUITE_P(Of, Hosts, testing::Values("00", "01", "0011", "01020"), testing::PrintToStringParamName());

// ---- network namespaces

class Networks : public testing::TestWithParam<Ranks> {
 protected:
  const std::string& places_ = GetParam().hosts;
  const int number_ = 1 + *std::ranges::max_element(places_) - '0';
  TestHosts hosts_{"--rate 1gbit --hosts " + std::to_string(number_)};

  void SetUp() override {
    if (!hosts_) GTEST_SKIP() << hosts_.problem();
  }
  int host_of(int index) const { return places_[static_cast<std::size_t>(index)] - '0'; }
  // Ranks on these hosts.
  ProcessGroup start(const ProcessGroup::Body& body) {
    return {GetParam().size, [this, body](Child& child) {
              hosts_.enter(host_of(child.index));
              body(child);
            }};
  }
};

void run_cases(Child& child, hocket_comm* comm) {
  const auto size = static_cast<std::size_t>(child.size);
  for (const Collective collective : all_collectives) {
    if (collective == Collective::send || collective == Collective::recv) continue;
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, size - 1, size * 17 + 3, std::size_t{200'003}}) {
      for (const bool in_place : {false, true}) {
        if (in_place && collective == Collective::barrier) continue;
        const Rank root = info_of(collective).has_root() ? static_cast<Rank>((count + in_place) % size) : 0;
        Call({.collective = collective, .count = count, .root = root, .in_place = in_place, .salt = count}, child.index,
             child.size)
            .run(comm);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST_P(Networks, CarryEveryCollective) {
  start([](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    run_cases(child, comm.get());
  }).expect_success();
}

TEST_P(Networks, CarryWhatIsInFlightOnTwoCommunicators) {
  start([](Child& child) {
    const Comm first, second;
    ASSERT_TRUE(first && second);
    std::vector<Call> calls;
    std::vector<hocket_work*> work;
    for (std::uint64_t number = 0; number < 40; ++number) {
      constexpr Collective some[] = {Collective::allreduce, Collective::broadcast, Collective::reduce_scatter,
                                     Collective::allgather};
      calls.emplace_back(Case{.collective = some[number / 2 % 4], .count = number * 731, .salt = number}, child.index,
                         child.size);
      work.push_back(nullptr);
      ASSERT_EQ(calls.back().issue(number % 2 == 0 ? first.get() : second.get(), &work.back()), HOCKET_OK);
    }
    while (!work.empty()) {
      EXPECT_EQ(hocket_work_wait(work.back(), 0), HOCKET_OK) << hocket_last_error();
      EXPECT_EQ(hocket_work_release(work.back()), HOCKET_OK);
      calls.back().expect_correct();
      calls.pop_back();
      work.pop_back();
    }
  }).expect_success();
}

TEST_P(Networks, CarryTheNewsOfADeath) {
  for (const int victim : {0, GetParam().size - 1}) {
    ProcessGroup group = start([&](Child& child) {
      const Comm comm;
      ASSERT_TRUE(comm);
      int rounds = 0;
      const hocket_result result = allreduce_until_failure(comm.get(), 100'000, [&] {
        if (++rounds == 3) child.say("looping");
      });
      expect_result(result, HOCKET_PEER_LOST);
      EXPECT_EQ(last_cause().peer, victim) << hocket_last_error();
    });
    group.hear_from_all("looping");
    group.signal(victim, SIGKILL);
    group.expect_success(victim);
    if (HasFailure()) return;
  }
}

// What this host's link to the network has sent.
std::uint64_t bytes_sent() {
  std::ifstream devices("/proc/self/net/dev");
  std::string word;
  while (devices >> word && word != "eth0:") devices.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  std::uint64_t value = 0;
  for (int field = 0; field < 9; ++field) devices >> value;  // eight of what was received, then the bytes sent
  return value;
}

// An allreduce of S bytes on H hosts takes 2(H - 1)/H · S out of each, wherever its ranks are.
TEST_P(Networks, CarryNoMoreOfAnAllreduceThanTheLeast) {
  start([&](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    constexpr std::size_t count = 1 << 20;
    const auto barrier = [&] { EXPECT_EQ(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK); };
    Call({.count = count, .salt = 1}, child.index, child.size).run(comm.get());  // connects
    barrier();
    const std::uint64_t before = bytes_sent();
    barrier();
    Call({.count = count, .salt = 2}, child.index, child.size).run(comm.get());
    barrier();
    const auto sent = static_cast<double>(bytes_sent() - before);
    const double least = 2.0 * (number_ - 1) / number_ * count * sizeof(float);
    EXPECT_GE(sent, least);
    EXPECT_LE(sent, 1.2 * least) << "on host " << host_of(child.index);  // headers, acknowledgements, barriers
    barrier();
  }).expect_success();
}

INSTANTIATE_TEST_SUITE_P(Of, Networks, testing::Values("0011", "01020", "01010101"), testing::PrintToStringParamName());

}  // namespace
}  // namespace hocket::process_testing
