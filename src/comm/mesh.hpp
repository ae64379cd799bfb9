// Mesh: one rank's connections to its peers, over the first transport of each peer that both sides have.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/base/core_set.hpp"
#include "src/exec/peers.hpp"
#include "src/spi/transport.hpp"

namespace hocket {

// What a rank tells the others about itself.
struct PeerInfo {
  struct Door {
    std::string transport;
    Address address;
  };
  std::vector<Door> doors;  // in order of preference
  std::string host;         // equal for ranks of one host
  std::string algorithm;    // options that must be equal on all ranks: Choices::summary()
  std::string tuning;       // and Tuning::digest()
  bool deterministic = false;
  CoreSet cores;  // that this rank may run on

  std::string serialise() const;
  // Code::protocol_error where the bytes are no card.
  static Result<PeerInfo> parse(std::string_view bytes);
};
inline constexpr std::size_t peer_info_bytes_max = 2048;

// Ranks exchange their cards in blocks of equal size; a rank that has none, because it failed, puts in why.
using PeerInfoBlock = std::span<std::byte, peer_info_bytes_max>;
// Code::internal where the card does not fit.
Status write_peer_info(PeerInfoBlock block, const Result<PeerInfo>& card);
// The failure where the block holds one; Code::protocol_error where it holds neither.
Result<PeerInfo> read_peer_info(PeerInfoBlock block);

// The transports of this process, most preferred first: all that work here ("auto"), or the one named.
Result<std::vector<std::unique_ptr<Transport>>> open_transports(std::string_view wanted, const TransportConfig& config);

class Mesh final : public Peers {
 public:
  explicit Mesh(std::vector<std::unique_ptr<Transport>> transports) : transports_(std::move(transports)) {}

  std::vector<PeerInfo::Door> doors() const;
  // Sets whom link() can reach. Cards of peers that are not known yet are empty.
  void set_peer_infos(std::vector<PeerInfo> cards);
  const std::vector<PeerInfo>& cards() const { return cards_; }
  // The transports that these links use, most preferred first: "shm+tcp"; "none" for no links. Any thread, once the
  // cards are set.
  std::string transports_of(std::span<const Direction> directions) const;
  // The transport over which every rank can share memory with all; null where there is none. Equal on all ranks.
  Transport* window_transport() const;
  // Says goodbye, or why not, and closes everything. Blocks until `deadline` at most.
  void shut_down(const Status& why, Deadline deadline);

  Result<Link*> link(Rank peer, Deadline deadline) override;
  Rank size() const override { return static_cast<Rank>(links_.size()); }
  void listen(bool on) override;
  std::optional<Tag> probe(Rank peer) override;
  std::size_t progress() override;
  bool arm(std::vector<pollfd>& interests) override;
  void disarm() override;
  void watch(std::vector<pollfd>& interests) override;
  std::optional<Deadline> next_deadline() const override;
  std::uint64_t watch_epoch() const override;
  void close(const Status& why) override;

 private:
  // How a rank is reached.
  struct Route {
    Transport* transport = nullptr;  // null: there is no way
    const Address* address = nullptr;
  };
  Route route_to(const PeerInfo& card) const;
  Result<Link*> make_link(Rank peer, std::optional<Deadline> deadline);

  std::vector<std::unique_ptr<Transport>> transports_;
  std::vector<PeerInfo> cards_;
  std::vector<Route> routes_;  // by rank
  std::vector<Link*> links_;   // by rank; owned by their transports
  bool all_links_made_ = false;
};

}  // namespace hocket
