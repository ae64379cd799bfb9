#include "src/comm/host_placement.hpp"

#include <string_view>
#include <unordered_map>
#include <vector>

namespace hocket {

HostPlacement::HostPlacement(std::span<const PeerInfo> cards, Rank self) {
  const std::string_view own_host = cards[static_cast<std::size_t>(self)].host;
  std::unordered_map<std::string_view, std::uint32_t> numbers;
  std::vector<std::uint32_t> host_by_rank;
  CoreSet cores;
  for (const PeerInfo& card : cards) {
    host_by_rank.push_back(numbers.try_emplace(card.host, static_cast<std::uint32_t>(numbers.size())).first->second);
    if (card.host != own_host) continue;
    ++ranks_here_;
    cores |= card.cores;
  }
  topology_ = Topology(host_by_rank);
  cores_here_ = cores.count();
}

}  // namespace hocket
