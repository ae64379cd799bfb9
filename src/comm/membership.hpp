// Membership: what a rank knows of the communicator that it is a member of, once all ranks have told about themselves.
// A value that never changes; all but the rank is the same on every rank.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/comm/host_placement.hpp"
#include "src/comm/options.hpp"
#include "src/comm/peer_info.hpp"

namespace hocket::comm {

// What every rank told, by rank.
using SharedPeerInfos = std::shared_ptr<const std::vector<PeerInfo>>;

// What a rank with these options tells the others.
PeerInfo describe_self(const Options& options, std::vector<Endpoint> endpoints);

// Code::mismatch where rank `rank`, which told `theirs`, is another build than rank `self`, which told `mine`.
Status check_build(const PeerInfo& mine, Rank self, const PeerInfo& theirs, Rank rank);

class Membership {
 public:
  // Code::mismatch where one was given other options than this one, and which.
  static Result<Membership> make(Options options, SharedPeerInfos peers);

  Rank rank() const { return options_.rank; }
  Rank size() const { return options_.size; }
  const std::string& name() const { return options_.name; }
  const Options& options() const { return options_; }
  const std::vector<PeerInfo>& peers() const { return *peers_; }
  const Topology& topology() const { return placement_.topology(); }
  // Of the one host that has all ranks, if it has fewer; else 0.
  Rank scarce_cores() const { return placement_.scarce_cores(); }
  // Of the slowest network of any rank.
  NetworkSpeed network_speed() const { return placement_.network_speed(); }
  const MachineClass& machine() const { return machine_class_of(topology(), size(), scarce_cores(), network_speed()); }
  // The ranks on this one's host, ascending.
  std::vector<Rank> ranks_here() const {
    return topology().ranks_by_host(size())[static_cast<std::size_t>(topology().host_of(rank()))];
  }
  // Of this rank's host alone, and of the ranks on it.
  Rank scarce_cores_here() const { return placement_.scarce_cores_here(); }
  const MachineClass& machine_here() const {
    return machine_class_of(Topology(), placement_.ranks_here(), scarce_cores_here(), network_speed());
  }
  WaitBudget wait_budget() const { return placement_.wait_budget(); }

 private:
  Membership(Options options, SharedPeerInfos peers)
      : options_(std::move(options)), peers_(std::move(peers)), placement_(*peers_, options_.rank) {}

  Options options_;
  SharedPeerInfos peers_;
  HostPlacement placement_;
};

}  // namespace hocket::comm
