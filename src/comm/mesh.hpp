// Mesh: one rank's links to its peers, over one or several transports, which it makes look like one.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "src/base/process_identity.hpp"
#include "src/comm/routes.hpp"
#include "src/exec/peers.hpp"

namespace hocket::comm {

class Mesh final : public Peers {
 public:
  // `size`: of the group, this rank included.
  Mesh(std::vector<std::unique_ptr<Transport>> transports, Rank size)
      : transports_(std::move(transports)),
        routes_(transports_, size),
        links_(static_cast<std::size_t>(size)),
        processes_(static_cast<std::size_t>(size)) {}

  // Where peers reach this rank.
  std::vector<Endpoint> endpoints() const;
  // Before the first link() to this peer. `process`: that of the peer, where it is known.
  void add_peer(Rank peer, std::span<const Endpoint> endpoints, const ProcessIdentity& process = {}) {
    routes_.add(peer, endpoints);
    processes_[static_cast<std::size_t>(peer)] = process;
  }
  // Any thread, once all peers are known.
  const Routes& routes() const { return routes_; }
  // How many file descriptors links to all peers that have none yet would take.
  std::size_t descriptors_to_come() const;
  // Once all peers are known: closes the doors at which none of them will come, nor look whether this rank lives.
  // `self`: this rank.
  void close_unused_doors(Rank self);
  // Whether a peer's door has been found shut, through which others would see that it lives. May block for 50 ms where
  // a network is silent; does not ask at every call.
  bool door_is_shut(Rank peer);
  // Says goodbye, or why not, and closes everything. Blocks until `deadline` at most.
  void shut_down(const Status& why, Deadline deadline);

  Result<Link*> link(Rank peer, Deadline deadline) override;
  Link* made_link(Rank peer) override;
  Rank size() const override { return routes_.size(); }
  std::optional<Tag> probe(Rank peer) override;
  bool has_ended(Rank peer) override;
  bool answers_dials(Rank peer) const override;
  void close(const Status& why) override;

  std::size_t progress() override;
  bool awaits_another_core() override;
  void listen(bool on) override;
  bool arm(std::vector<pollfd>& interests) override;
  void disarm() override;
  void watch(std::vector<pollfd>& interests) override;
  std::uint64_t watch_epoch() const override;
  std::optional<Deadline> next_deadline() const override;

 private:
  struct Doubt {
    std::chrono::milliseconds pause;
    Deadline next = Deadline::after(std::chrono::milliseconds(0));
    bool is_shut = false;
  };

  Result<Link*> make_link(Rank peer, std::optional<Deadline> deadline);

  const std::vector<std::unique_ptr<Transport>> transports_;
  Routes routes_;
  std::vector<Link*> links_;                // by rank; owned by their transports
  std::vector<ProcessIdentity> processes_;  // by rank
  std::map<Rank, Doubt> doubts_;
  Deadline next_door_ = Deadline::after(std::chrono::milliseconds(0));  // is asked no sooner
  bool all_links_made_ = false;
};

}  // namespace hocket::comm
