// Routes: over which transport each peer is reached: the first of this rank's that the peer has, too. Both sides
// conclude the same.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/comm/peer_info.hpp"
#include "src/exec/peers.hpp"

namespace hocket::comm {

class Routes {
 public:
  // `transports`, most preferred first, must outlive the routes. `size`: of the group, this rank included.
  Routes(std::span<const std::unique_ptr<Transport>> transports, Rank size);

  struct Route {
    Transport* transport = nullptr;  // null: there is no way, or the peer is not known yet
    Address address;
  };
  // Where a peer can be reached; the first time it is told counts.
  void add(Rank peer, std::span<const Endpoint> endpoints);
  const Route& operator[](Rank peer) const { return routes_[static_cast<std::size_t>(peer)]; }
  Rank size() const { return static_cast<Rank>(routes_.size()); }

  // The transports that these directions use, most preferred first: "shm+tcp"; "none" where there are none.
  std::string transports_of(std::span<const Direction> directions) const;
  // The transport over which this rank can share memory with all of these; null where there is none.
  Transport* window_transport(std::span<const Rank> ranks) const;

 private:
  const std::span<const std::unique_ptr<Transport>> transports_;
  std::vector<Route> routes_;               // by rank
  std::vector<bool> known_;                 // by rank
  std::vector<std::vector<bool>> reaches_;  // by transport, then by rank
};

}  // namespace hocket::comm
