#include "src/comm/host_levels.hpp"

#include <algorithm>

#include "src/base/last_cache.hpp"
#include "src/comm/communicator_parts.hpp"

namespace hocket::comm {
namespace {

// Whether these ranks have a transport with windows in common: only over such a one do ranks have equal addresses.
bool share_memory(const std::vector<PeerInfo>& peers, const std::vector<Rank>& ranks) {
  const auto has = [&](Rank rank, const Endpoint& endpoint) {
    const std::vector<Endpoint>& endpoints = peers[static_cast<std::size_t>(rank)].endpoints;
    return std::ranges::find(endpoints, endpoint) != endpoints.end();
  };
  const std::vector<Endpoint>& first = peers[static_cast<std::size_t>(ranks.front())].endpoints;
  return ranks.size() == 1 || std::ranges::any_of(first, [&](const Endpoint& endpoint) {
           return std::ranges::all_of(ranks, [&](Rank rank) { return has(rank, endpoint); });
         });
}

// Whether some ranks share a host, and the ranks of each can share memory, as all have told; every rank concludes the
// same.
bool hosts_share_memory(const Membership& membership) {
  const auto hosts = membership.topology().ranks_by_host(membership.size());
  return static_cast<Rank>(hosts.size()) < membership.size() &&
         std::ranges::all_of(hosts, [&](const auto& ranks) { return share_memory(membership.peers(), ranks); });
}

}  // namespace

HostLevels::HostLevels(const Membership& membership, Context& context, WindowUse* window_use)
    : topology_(membership.topology()),
      ranks_(topology_.ranks_by_host(membership.size())),
      own_(topology_.host_of(membership.rank())),
      window_use_(window_use),
      on_host_(context.add_part(membership.ranks_here())) {
  const std::size_t numbers = std::ranges::max(ranks_, {}, &std::vector<Rank>::size).size();
  for (std::size_t number = 0; number < numbers; ++number) {
    std::vector<Rank> leaders;
    for (const std::vector<Rank>& here : ranks_) leaders.push_back(here[number % here.size()]);
    const bool leads = leaders[static_cast<std::size_t>(own_)] == membership.rank();
    among_.push_back(leads ? context.add_part(leaders) : nullptr);
  }
}

Rank HostLevels::number_of(Rank rank) const {
  const std::vector<Rank>& there = ranks_[static_cast<std::size_t>(topology_.host_of(rank))];
  return static_cast<Rank>(std::ranges::find(there, rank) - there.begin());
}

HostLevels::Leaders HostLevels::leaders_with(Rank root) const {
  const Rank number = number_of(root);
  const auto ranks_here = static_cast<Rank>(ranks_[static_cast<std::size_t>(own_)].size());
  return {.number = number, .here = number % ranks_here, .among = among_[static_cast<std::size_t>(number)]};
}

Result<HostWindow> open_window_here(const CommunicatorParts& parts, Deadline deadline) {
  const Membership& membership = parts.membership;
  if (!hosts_share_memory(membership)) return HostWindow();
  const Context& context = *parts.context;
  std::vector<Rank> members;
  for (const Rank rank : membership.ranks_here()) members.push_back(context.peer_of(rank));
  const DirectSetting setting{.thresholds = &direct_thresholds(membership.machine_here(), members.size()),
                              .shares_work = membership.scarce_cores_here() != 0,
                              .single_copy = membership.options().single_copy,
                              .cache_bytes = LastCache::here().bytes_of_all(members.size())};
  const auto use = context.number() == 0 ? parts.link_set->open_first_window(members, setting, deadline)
                                         : parts.link_set->open_window(context, members, setting, deadline);
  if (!use.ok()) return use.status();
  return HostWindow{.is_one_of_all = true, .is_lacking = members.size() > 1 && *use == nullptr, .use = *use};
}

void use_windows(CommunicatorParts& parts, const HostWindow& here) {
  if (!here.is_one_of_all) return;
  if (parts.membership.topology().hosts() == 1) {
    parts.window_use = here.use;
  } else {
    parts.levels = std::make_shared<const HostLevels>(parts.membership, *parts.context, here.use);
  }
}

}  // namespace hocket::comm
