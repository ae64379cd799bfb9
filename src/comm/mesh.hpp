// Mesh: one rank's links to its peers, over one or several transports, which it makes look like one.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "src/comm/routes.hpp"
#include "src/exec/peers.hpp"

namespace hocket::comm {

class Mesh final : public Peers {
 public:
  // `size`: of the group, this rank included.
  Mesh(std::vector<std::unique_ptr<Transport>> transports, Rank size)
      : transports_(std::move(transports)), routes_(transports_, size), links_(static_cast<std::size_t>(size)) {}

  // Where peers reach this rank.
  std::vector<Endpoint> endpoints() const;
  // Before the first link() to this peer.
  void add_peer(Rank peer, std::span<const Endpoint> endpoints) { routes_.add(peer, endpoints); }
  // Any thread, once all peers are known.
  const Routes& routes() const { return routes_; }
  // How many file descriptors links to all peers that have none yet would take.
  std::size_t descriptors_to_come() const;
  // Once all peers are known: closes the doors at which none of them will come, nor look whether this rank lives where
  // they do that. `self`: this rank.
  void close_unused_doors(Rank self, bool peers_look);
  // Says goodbye, or why not, and closes everything. Blocks until `deadline` at most.
  void shut_down(const Status& why, Deadline deadline);

  Result<Link*> link(Rank peer, Deadline deadline) override;
  Link* made_link(Rank peer) override;
  Rank size() const override { return routes_.size(); }
  std::optional<Tag> probe(Rank peer) override;
  void close(const Status& why) override;

  std::size_t progress() override;
  void listen(bool on) override;
  bool arm(std::vector<pollfd>& interests) override;
  void disarm() override;
  void watch(std::vector<pollfd>& interests) override;
  std::uint64_t watch_epoch() const override;
  std::optional<Deadline> next_deadline() const override;

 private:
  Result<Link*> make_link(Rank peer, std::optional<Deadline> deadline);

  const std::vector<std::unique_ptr<Transport>> transports_;
  Routes routes_;
  std::vector<Link*> links_;  // by rank; owned by their transports
  bool all_links_made_ = false;
};

}  // namespace hocket::comm
