// What an entry of the catalog writes for one rank.
#include <algorithm>

#include "src/spi/schedule.hpp"

namespace hocket {
namespace {

// The fewest ranks that a host has.
std::uint32_t rails_of(const Topology& topology, Rank size) {
  const auto hosts = topology.ranks_by_host(size);
  const auto fewer = [](const auto& a, const auto& b) { return a.size() < b.size(); };
  return static_cast<std::uint32_t>(std::ranges::min_element(hosts, fewer)->size());
}

}  // namespace

std::uint32_t chunks_of(const Algorithm& algorithm, Rank size, const Topology& topology) {
  switch (algorithm.collective->chunks) {
    case Chunks::blocks: return static_cast<std::uint32_t>(size);
    case Chunks::message:
    case Chunks::token: return 1;
    case Chunks::parts: break;
  }
  switch (algorithm.chunking) {
    case Chunking::one: break;
    case Chunking::two: return 2;
    case Chunking::one_per_rank: return static_cast<std::uint32_t>(size);
    case Chunking::one_per_rail: return rails_of(topology, size);
    case Chunking::one_per_rail_and_host:
      return rails_of(topology, size) * static_cast<std::uint32_t>(topology.hosts());
  }
  return 1;
}

Schedule Algorithm::write(Rank rank, Rank size, Rank root, const Topology& topology) const {
  const Shape shape{.collective = collective,
                    .rank = rank,
                    .size = size,
                    .root = root,
                    .chunks = chunks_of(*this, size, topology),
                    .topology = topology};
  ScheduleBuilder builder(shape);
  function(shape, builder);
  return std::move(builder).take();
}

}  // namespace hocket
