// HostPlacement: where the ranks of a communicator run, as these have told. Every rank concludes the same.
#pragma once

#include <span>

#include "src/comm/peer_info.hpp"
#include "src/exec/waiting.hpp"
#include "src/spi/topology.hpp"

namespace hocket::comm {

class HostPlacement {
 public:
  // What every rank told, by rank.
  HostPlacement(std::span<const PeerInfo> peers, Rank self);

  const Topology& topology() const { return topology_; }
  // Of the one host that has all ranks, if it has fewer; else 0.
  Rank scarce_cores() const { return topology_.hosts() == 1 ? scarce_cores_here() : 0; }
  // Of this rank's host, if it has fewer than ranks; else 0.
  Rank scarce_cores_here() const { return ranks_here_ > cores_here_ ? cores_here_ : 0; }
  Rank ranks_here() const { return ranks_here_; }
  // Of the slowest network of any rank.
  NetworkSpeed network_speed() const { return network_speed_; }
  WaitBudget wait_budget() const { return WaitBudget::for_ranks(ranks_here_, cores_here_); }

 private:
  Topology topology_;
  NetworkSpeed network_speed_ = NetworkSpeed::unknown;
  int ranks_here_ = 0;  // on this rank's host
  int cores_here_ = 0;  // of all ranks here: each may be bound to some of its own
};

}  // namespace hocket::comm
