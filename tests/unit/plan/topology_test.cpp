#include "src/spi/topology.hpp"

#include <gtest/gtest.h>

namespace hocket {
namespace {

using Groups = std::vector<std::vector<Rank>>;

TEST(Topology, IsOneHostByDefault) {
  const Topology topology;
  EXPECT_EQ(topology.hosts(), 1);
  EXPECT_EQ(topology.host_of(7), 0);
  EXPECT_EQ(topology.ranks_by_host(3), (Groups{{0, 1, 2}}));
}

TEST(Topology, NumbersHostsByTheirLowestRanks) {
  const Topology topology({9, 4, 9, 9, 0});
  EXPECT_EQ(topology.hosts(), 3);
  EXPECT_EQ(topology.host_of(2), 0);
  EXPECT_EQ(topology.host_of(4), 2);
  EXPECT_EQ(topology.ranks_by_host(5), (Groups{{0, 2, 3}, {1}, {4}}));
}

TEST(Topology, IsEqualWhereTheSameRanksShareHosts) {
  const Topology one({5, 5, 6});
  const Topology copy = one;
  EXPECT_EQ(one, copy);
  EXPECT_EQ(one, Topology({0, 0, 1}));
  EXPECT_NE(one, Topology({0, 1, 1}));
  EXPECT_NE(one, Topology());
  EXPECT_NE(Topology(), one);
  EXPECT_EQ(Topology({3, 3, 3}), Topology());
}

}  // namespace
}  // namespace hocket
