#include "src/comm/membership.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hocket::comm {
namespace {

using testing::HasSubstr;

CoreSet cores(std::initializer_list<int> numbers) {
  CoreSet set;
  for (const int number : numbers) set.add(number);
  return set;
}

PeerInfo on(std::string host, const CoreSet& its_cores) {
  PeerInfo info = describe_self(Options{}, {});
  info.host = std::move(host);
  info.cores = its_cores;
  return info;
}

Result<Membership> make_membership(Rank rank, std::vector<PeerInfo> peers) {
  const Options options{.rank = rank, .size = static_cast<Rank>(peers.size()), .name = "job"};
  return Membership::make(options, std::make_shared<const std::vector<PeerInfo>>(std::move(peers)));
}

TEST(Membership, KnowsWhereTheRanksRun) {
  const auto made = make_membership(2, {on("a", cores({0})), on("b", cores({0})), on("a", cores({1}))});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->rank(), 2);
  EXPECT_EQ(made->size(), 3);
  EXPECT_EQ(made->name(), "job");
  EXPECT_EQ(made->topology().hosts(), 2);
  EXPECT_EQ(made->topology().host_of(0), made->topology().host_of(2));
  EXPECT_NE(made->topology().host_of(0), made->topology().host_of(1));
  EXPECT_EQ(made->scarce_cores(), 0);
}

TEST(Membership, KnowsThatRanksOutnumberCores) {
  const auto crowded =
      make_membership(0, {on("a", cores({0, 1})), on("a", cores({1, 2})), on("a", cores({0})), on("a", cores({0}))});
  ASSERT_TRUE(crowded.ok());
  EXPECT_EQ(crowded->scarce_cores(), 3) << "of all ranks together";
  const auto bound = make_membership(0, {on("a", cores({0})), on("a", cores({1}))});
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(bound->scarce_cores(), 0);
  const auto two_hosts = make_membership(0, {on("a", cores({0})), on("a", cores({0})), on("b", cores({0}))});
  ASSERT_TRUE(two_hosts.ok());
  EXPECT_EQ(two_hosts->scarce_cores(), 0) << "which is of one host";
  EXPECT_TRUE(two_hosts->wait_budget().shares_cores) << "but these two ranks share a core";
}

// Ranks whose interfaces differ must choose by the same class.
TEST(Membership, TakesTheSlowestNetworkOfAnyRank) {
  std::vector<PeerInfo> peers{on("a", cores({0})), on("b", cores({0})), on("c", cores({0}))};
  peers[0].speed = NetworkSpeed::gbit_100;
  peers[1].speed = NetworkSpeed::gbit_10;
  peers[2].speed = NetworkSpeed::gbit_25;
  for (const Rank rank : {0, 1, 2}) EXPECT_EQ(make_membership(rank, peers)->machine().name, "several-hosts-10g");
  peers[0].speed = NetworkSpeed::unknown;
  for (const Rank rank : {0, 1, 2}) EXPECT_EQ(make_membership(rank, peers)->machine().name, "several-hosts");
}

TEST(Membership, RefusesARankWithOtherOptions) {
  const PeerInfo own = on("a", cores({0}));
  PeerInfo algorithm = own, tuning = own, deterministic = own;
  algorithm.algorithm = "x";
  tuning.tuning = "x";
  deterministic.deterministic = true;
  for (const auto& [other, named] : {std::pair(algorithm, "HOCKET_ALGORITHM"), std::pair(tuning, "HOCKET_TUNING"),
                                     std::pair(deterministic, "HOCKET_DETERMINISTIC")}) {
    const auto made = make_membership(0, {own, own, other});
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.status().code(), Code::mismatch);
    EXPECT_EQ(made.status().cause().peer, 2);
    EXPECT_THAT(made.status().message(), HasSubstr(named));
    EXPECT_THAT(made.status().message(), HasSubstr("rank 2"));
  }
}

TEST(Membership, RefusesARankOfAnotherBuildAndSaysWhatDiffers) {
  const PeerInfo own = on("a", cores({0}));
  const std::pair<std::uint64_t BuildIdentity::*, const char*> parts[] = {
      {&BuildIdentity::protocol, "its protocol differs"},
      {&BuildIdentity::tables, "its tables of collectives, types and reductions differ"},
      {&BuildIdentity::catalog, "its catalog of algorithms differs"},
      {&BuildIdentity::selection, "its selection tables differ"},
  };
  for (const auto& [part, says] : parts) {
    PeerInfo other = own;
    other.build.*part ^= 1;
    other.algorithm = "another";  // what another build says about its options means nothing here
    const auto made = make_membership(0, {own, own, other});
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.status().code(), Code::mismatch);
    EXPECT_EQ(made.status().cause().peer, 2);
    EXPECT_THAT(made.status().message(), HasSubstr("rank 2 is another build of Hocket than rank 0: "));
    EXPECT_THAT(made.status().message(), HasSubstr(says));
  }
}

}  // namespace
}  // namespace hocket::comm
