#include "src/comm/finalize.hpp"

#include <utility>

#include "src/comm/descriptor_limit.hpp"
#include "src/exec/schedule_operation.hpp"
#include "src/plan/plan.hpp"

namespace hocket::comm {

Status allgather_on_ring(LinkSet& link_set, std::span<std::byte> all, Deadline deadline) {
  const Rank rank = link_set.rank(), size = link_set.mesh().size();
  const std::size_t block = all.size() / static_cast<std::size_t>(size);
  const auto plan = make_plan({.algorithm = find_algorithm(Collective::allgather, "ring"),
                               .rank = rank,
                               .size = size,
                               .count = block,
                               .placement = Placement::in_place});
  const std::shared_ptr<Operation> operation = std::make_shared<ScheduleOperation>(plan, link_set.executor().first());
  operation->bind({.input = all.data() + static_cast<std::size_t>(rank) * block,
                   .output = all.data(),
                   .signature = {.collective = Collective::allgather, .count = block},
                   .reduction = {},
                   .timeout = deadline.remaining()});
  link_set.executor().first()->begin_with_number_0();
  return link_set.executor().run({&operation, 1});
}

Result<SharedPeerInfos> tell_on_ring(LinkSet& link_set, const PeerInfo& mine, Deadline deadline) {
  auto told = exchange_peer_infos(link_set.rank(), link_set.mesh().size(), mine,
                                  [&](auto all) { return allgather_on_ring(link_set, all, deadline); });
  if (!told.ok()) return told.status();
  auto peers = std::make_shared<std::vector<PeerInfo>>();
  for (Result<PeerInfo>& info : *told) {
    if (!info.ok()) return info.status();
    peers->push_back(std::move(*info));
  }
  return SharedPeerInfos(std::move(peers));
}

Result<CommunicatorParts> finalize(const Options& options, SharedPeerInfos peers, std::shared_ptr<LinkSet> link_set,
                                   Deadline deadline) {
  auto membership = Membership::make(options, std::move(peers));
  if (!membership.ok()) return membership.status();
  link_set->add_peers(membership->peers());
  link_set->records().set_peers(membership->peers());
  link_set->executor().set_wait_budget(membership->wait_budget());
  std::shared_ptr<Context> context = link_set->executor().first();
  CommunicatorParts parts{.membership = std::move(*membership),
                          .server = nullptr,
                          .link_set = std::move(link_set),
                          .context = std::move(context),
                          .window_use = nullptr};
  const auto window = open_window_here(parts, deadline);
  if (!window.ok()) return window.status();
  use_windows(parts, *window);
  parts.link_set->close_unused_doors();
  warn_of_descriptor_limit(options.rank, options.size, parts.link_set->descriptors_to_come());
  return parts;
}

}  // namespace hocket::comm
