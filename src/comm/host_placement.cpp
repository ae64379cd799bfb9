#include "src/comm/host_placement.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hocket::comm {

HostPlacement::HostPlacement(std::span<const PeerInfo> peers, Rank self) {
  const std::string_view own_host = peers[static_cast<std::size_t>(self)].host;
  std::unordered_map<std::string_view, std::uint32_t> numbers;
  std::vector<std::uint32_t> host_by_rank;
  CoreSet cores;
  network_speed_ = std::ranges::min(peers, {}, &PeerInfo::speed).speed;
  for (const PeerInfo& peer : peers) {
    host_by_rank.push_back(numbers.try_emplace(peer.host, static_cast<std::uint32_t>(numbers.size())).first->second);
    if (peer.host != own_host) continue;
    ++ranks_here_;
    cores |= peer.cores;
  }
  topology_ = Topology(host_by_rank);
  cores_here_ = cores.count();
}

}  // namespace hocket::comm
