// What the two-level algorithms promise about the traffic between hosts. That they are right is shown by the suite of
// all algorithms.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "src/plan/text.hpp"
#include "src/plan/verify.hpp"

namespace hocket {
namespace {

// Chunks that cross from one host to another, by host.
struct Traffic {
  std::vector<std::uint64_t> sent, received;
  std::uint64_t total() const { return std::accumulate(sent.begin(), sent.end(), std::uint64_t{0}); }
};

Traffic traffic_of(const Algorithm& algorithm, Rank size, Rank root, const Topology& topology) {
  const auto hosts = static_cast<std::size_t>(topology.hosts());
  Traffic traffic{std::vector<std::uint64_t>(hosts), std::vector<std::uint64_t>(hosts)};
  for (Rank rank = 0; rank < size; ++rank) {
    for (const Step& step : algorithm.write(rank, size, root, topology).steps) {
      const auto here = static_cast<std::size_t>(topology.host_of(rank));
      if (step.kind != StepKind::send) continue;
      const auto there = static_cast<std::size_t>(topology.host_of(step.peer));
      if (here == there) continue;
      traffic.sent[here] += step.left.count;
      traffic.received[there] += step.left.count;
    }
  }
  return traffic;
}

struct Entry {
  Collective collective;
  std::string_view name;
};

class TwoLevel : public testing::TestWithParam<Entry> {
 protected:
  // For every number of ranks and grouping: visit(size, topology, ranks of each host, chunks of all the data).
  template <class Visit>
  void for_each_grouping(Visit visit) {
    for (Rank size = 1; size <= 33; ++size) {
      for (const Topology& topology : verify_topologies(size)) {
        SCOPED_TRACE("hosts " + describe(topology, size));
        std::vector<std::uint64_t> ranks;
        for (const auto& host : topology.ranks_by_host(size)) ranks.push_back(host.size());
        visit(size, topology, ranks, chunks_of(algorithm_, size, topology));
        if (HasFailure()) return;
      }
    }
  }
  const Algorithm& algorithm_ = *find_algorithm(GetParam().collective, GetParam().name);
};

class TwoLevelAllreduce : public TwoLevel {};
class TwoLevelBlocks : public TwoLevel {};
class TwoLevelBroadcast : public TwoLevel {};

// 2(H - 1)/H of the data out of each host and into it.
TEST_P(TwoLevelAllreduce, MovesTheLeastBetweenHosts) {
  for_each_grouping([&](Rank size, const Topology& topology, const auto& ranks, std::uint64_t chunks) {
    const Traffic traffic = traffic_of(algorithm_, size, 0, topology);
    const std::uint64_t least = 2 * (ranks.size() - 1) * (chunks / ranks.size());
    for (std::size_t host = 0; host < ranks.size(); ++host) {
      EXPECT_EQ(traffic.sent[host], least) << "host " << host;
      EXPECT_EQ(traffic.received[host], least) << "host " << host;
    }
  });
}

// Every block crosses once between its own host and each other: out of the others (reduce_scatter) or into them
// (allgather).
TEST_P(TwoLevelBlocks, MoveTheLeastBetweenHosts) {
  for_each_grouping([&](Rank size, const Topology& topology, const auto& ranks, std::uint64_t chunks) {
    const Traffic traffic = traffic_of(algorithm_, size, 0, topology);
    const bool gathers = GetParam().collective == Collective::allgather;
    for (std::size_t host = 0; host < ranks.size(); ++host) {
      EXPECT_EQ((gathers ? traffic.received : traffic.sent)[host], chunks - ranks[host]) << "host " << host;
    }
    EXPECT_EQ(traffic.total(), chunks * (ranks.size() - 1));
  });
}

// The data enters every host but the root's once.
TEST_P(TwoLevelBroadcast, EntersEachHostOnce) {
  for_each_grouping([&](Rank size, const Topology& topology, const auto& ranks, std::uint64_t chunks) {
    for (Rank root = 0; root < size; ++root) {
      const Traffic traffic = traffic_of(algorithm_, size, root, topology);
      for (std::size_t host = 0; host < ranks.size(); ++host) {
        const bool of_root = static_cast<Rank>(host) == topology.host_of(root);
        EXPECT_EQ(traffic.received[host], of_root ? 0 : chunks) << "root " << root << ", host " << host;
      }
    }
  });
}

// Rails share out the work of a host: none of its ranks sends more than its part of what crosses.
TEST_P(TwoLevelAllreduce, SharesTheTrafficAmongTheRanksOfAHost) {
  const Topology topology({0, 0, 0, 0, 1, 1, 1, 1});
  for (Rank rank = 0; rank < 8; ++rank) {
    std::uint64_t crossing = 0;
    for (const Step& step : algorithm_.write(rank, 8, 0, topology).steps) {
      crossing += step.kind == StepKind::send && topology.host_of(step.peer) != topology.host_of(rank);
    }
    EXPECT_EQ(crossing, 2u) << "rank " << rank;  // two of eight chunks
  }
}

constexpr auto name = [](const auto& test) {
  return std::string(name_of(test.param.collective)) + "_" + std::string(test.param.name);
};

INSTANTIATE_TEST_SUITE_P(Of, TwoLevelAllreduce,
                         testing::Values(Entry{Collective::allreduce, "two_level"},
                                         Entry{Collective::allreduce, "encoded_two_level"}),
                         name);
INSTANTIATE_TEST_SUITE_P(Of, TwoLevelBlocks,
                         testing::Values(Entry{Collective::reduce_scatter, "two_level"},
                                         Entry{Collective::allgather, "two_level"},
                                         Entry{Collective::reduce_scatter, "encoded_two_level"},
                                         Entry{Collective::allgather, "encoded_two_level"}),
                         name);
INSTANTIATE_TEST_SUITE_P(Of, TwoLevelBroadcast,
                         testing::Values(Entry{Collective::broadcast, "two_level"},
                                         Entry{Collective::broadcast, "leaders"}),
                         name);

// The groupings that are tried are those that the verifier promises.
TEST(VerifyTopologies, AreEqualUnequalAndInterleaved) {
  const auto all = verify_topologies(8);
  for (const Topology& wanted : {Topology(), Topology({0, 0, 0, 0, 1, 1, 1, 1}), Topology({0, 1, 0, 1, 0, 1, 0, 1}),
                                 Topology({0, 1, 2, 0, 0, 0, 0, 0}), Topology({0, 1, 2, 3, 4, 0, 1, 2})}) {
    EXPECT_NE(std::find(all.begin(), all.end(), wanted), all.end()) << describe(wanted, 8);
  }
  for (Rank size = 1; size <= 33; ++size) {
    std::set<Rank> hosts;
    for (const Topology& topology : verify_topologies(size)) hosts.insert(topology.hosts());
    EXPECT_EQ(hosts.size(), static_cast<std::size_t>(std::min(size, 5))) << size << " ranks";
  }
}

}  // namespace
}  // namespace hocket
