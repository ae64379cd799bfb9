#include "src/comm/routes.hpp"

#include <algorithm>

namespace hocket::comm {
namespace {

// Null: this transport does not reach the peer.
const Address* reached_by(const Transport& transport, std::span<const Endpoint> endpoints) {
  for (const Endpoint& endpoint : endpoints) {
    if (endpoint.transport == transport.name() && transport.reaches(endpoint.address)) return &endpoint.address;
  }
  return nullptr;
}

}  // namespace

Routes::Routes(std::span<const std::unique_ptr<Transport>> transports, Rank size)
    : transports_(transports),
      routes_(static_cast<std::size_t>(size)),
      known_(static_cast<std::size_t>(size)),
      reaches_(transports.size(), std::vector<bool>(static_cast<std::size_t>(size))) {}

void Routes::add(Rank peer, std::span<const Endpoint> endpoints) {
  const auto index = static_cast<std::size_t>(peer);
  if (known_[index]) return;
  known_[index] = true;
  for (std::size_t i = 0; i < transports_.size(); ++i) {
    const Address* const address = reached_by(*transports_[i], endpoints);
    if (address == nullptr) continue;
    reaches_[i][index] = true;
    if (routes_[index].transport == nullptr) routes_[index] = {.transport = transports_[i].get(), .address = *address};
  }
}

std::string Routes::transports_of(std::span<const Direction> directions) const {
  std::string names;
  for (const auto& transport : transports_) {
    const auto used = [&](const Direction& direction) { return (*this)[direction.peer].transport == transport.get(); };
    if (std::ranges::none_of(directions, used)) continue;
    if (!names.empty()) names += '+';
    names += transport->name();
  }
  return names.empty() ? "none" : names;
}

Transport* Routes::window_transport(std::span<const Rank> ranks) const {
  for (std::size_t i = 0; i < transports_.size(); ++i) {
    const auto reaches = [&](Rank rank) { return reaches_[i][static_cast<std::size_t>(rank)]; };
    if (transports_[i]->has_window() && std::ranges::all_of(ranks, reaches)) return transports_[i].get();
  }
  return nullptr;
}

}  // namespace hocket::comm
