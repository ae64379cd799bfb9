#include "src/comm/local.hpp"

#include <utility>

#include "src/base/random.hpp"
#include "src/comm/finalize.hpp"

namespace hocket::comm {
namespace {

// The ring of connections, through which every rank learns that another has ended.
Status connect_local_ring(LinkSet& link_set, Deadline deadline) {
  const Rank rank = link_set.rank(), size = link_set.mesh().size();
  for (const Rank neighbour : neighbours_of(rank, size)) {
    const Status linked =
        link_set.executor().with_exclusive_progress([&] { return link_set.mesh().link(neighbour, deadline).status(); });
    if (!linked.ok()) return linked;
  }
  return {};
}

}  // namespace

Result<CommunicatorParts> make_alone(const Options& options, PeerInfo self, const RegionTable* regions,
                                     bool says_name) {
  auto link_set = LinkSet::open(options, {.regions = regions, .says_name = says_name});
  if (!link_set.ok()) return link_set.status();
  self.endpoints.clear();
  auto peers = std::make_shared<const std::vector<PeerInfo>>(1, std::move(self));
  return finalize(options, std::move(peers), std::move(*link_set), Deadline::after(options.timeout));
}

Result<std::vector<CommunicatorParts>> make_local(const Options& options) {
  const auto deadline = Deadline::after(options.timeout);
  const std::uint64_t group = random_number();
  std::vector<std::shared_ptr<LinkSet>> link_sets;
  const auto peers =
      std::make_shared<std::vector<PeerInfo>>(static_cast<std::size_t>(options.size), describe_self(options, {}));
  std::vector<CommunicatorParts> all;
  Options own = options;
  own.transport = "loopback";
  for (own.rank = 0; own.rank < own.size; ++own.rank) {
    auto link_set = LinkSet::open(own, {.group = group});
    if (!link_set.ok()) return link_set.status();
    (*peers)[static_cast<std::size_t>(own.rank)].endpoints = (*link_set)->mesh().endpoints();
    link_sets.push_back(std::move(*link_set));
  }
  for (own.rank = 0; own.rank < own.size; ++own.rank) {
    auto parts = finalize(own, peers, std::move(link_sets[static_cast<std::size_t>(own.rank)]), deadline);
    if (!parts.ok()) return parts.status();
    all.push_back(std::move(*parts));
  }
  for (CommunicatorParts& parts : all) {
    if (own.size == 1) break;
    if (Status ring = connect_local_ring(*parts.link_set, deadline); !ring.ok()) return ring;
  }
  return all;
}

}  // namespace hocket::comm
