#include "src/comm/bootstrap.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "src/comm/rendezvous.hpp"
#include "src/store/open_store.hpp"

namespace hocket::comm {
namespace {

constexpr std::chrono::seconds farewell{1};  // what leaving may take

// Connects to both neighbours and learns what everyone tells by a ring allgather, so the store is not needed any more.
// The ring of connections stays: each rank's end is noticed by two others, who pass it on.
Result<SharedPeerInfos> exchange_peers(Rendezvous& rendezvous, LinkSet& link_set, const Options& options,
                                       Deadline deadline) {
  const PeerInfo mine = describe_self(options, link_set.mesh().endpoints());
  if (Status published = rendezvous.publish(mine); !published.ok()) return published;
  for (const Rank neighbour : {(options.rank + 1) % options.size, (options.rank + options.size - 1) % options.size}) {
    const auto info = rendezvous.peer_info_of(neighbour);
    if (!info.ok()) return info.status();
    link_set.mesh().add_peer(neighbour, *info);
  }
  std::vector<std::byte> all(static_cast<std::size_t>(options.size) * peer_info_bytes_max);
  if (Status status = write_peer_info(peer_info_block(all, options.rank), mine); !status.ok()) return status;
  if (Status status = allgather_on_ring(link_set, all, deadline); !status.ok()) return status;
  auto peers = std::make_shared<std::vector<PeerInfo>>();
  for (Rank rank = 0; rank < options.size; ++rank) {
    auto info = read_peer_info(peer_info_block(all, rank));
    if (!info.ok()) return info.status();
    peers->push_back(std::move(*info));
  }
  return SharedPeerInfos(std::move(peers));
}

Result<CommunicatorParts> join_links(Rendezvous& rendezvous, std::shared_ptr<LinkSet> link_set, const Options& options,
                                     Deadline deadline, const std::stop_token& stop) {
  const AbortOnStop abort_on_stop(stop, link_set);
  auto peers = exchange_peers(rendezvous, *link_set, options, deadline);
  if (!peers.ok()) return peers.status();
  return finalize(options, std::move(*peers), std::move(link_set), deadline);
}

Result<CommunicatorParts> meet_in_store(const Options& options, const RegionTable& regions,
                                        std::unique_ptr<StoreServer>& server, Deadline deadline,
                                        const std::stop_token& stop) {
  auto store = options.meeting ? meet_at(*options.meeting, options.rank == 0, server, deadline, stop)
                               : open_store(options.store, deadline, stop);
  if (!store.ok()) return store.status();
  auto rendezvous = Rendezvous::join(**store, options, deadline, stop);
  if (!rendezvous.ok()) return rendezvous.status();
  const auto link_set = LinkSet::open(options, {.group = (*rendezvous)->group(), .regions = &regions});
  auto parts = link_set.ok() ? join_links(**rendezvous, *link_set, options, deadline, stop) : link_set.status();
  if (parts.ok()) {
    (*rendezvous)->finish();
  } else {
    (*rendezvous)->fail(parts.status());
  }
  return parts;
}

}  // namespace

// Meets the others, again if the store went away meanwhile: it may have been that of an earlier communicator, which
// rank 0 had not destroyed yet.
Result<CommunicatorParts> bootstrap(const Options& options, const RegionTable& regions, const std::stop_token& stop) {
  const auto deadline = Deadline::after(options.timeout);
  std::unique_ptr<StoreServer> server;
  for (;;) {
    auto parts = meet_in_store(options, regions, server, deadline, stop);
    if (parts.ok()) {
      parts->server = std::move(server);
      return parts;
    }
    const Status& status = parts.status();
    const bool store_lost = status.code() == Code::store_unreachable && status.cause().peer == no_rank;
    if (store_lost && !deadline.passed()) continue;
    if (server) (void)server->wait_until_no_clients(Deadline::after(farewell));  // let them read why
    return status;
  }
}

}  // namespace hocket::comm
