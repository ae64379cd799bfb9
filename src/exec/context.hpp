// Context: one communicator as the executor sees it. Communicators that share links share an executor, and their
// contexts keep their calls apart, as MPI's contexts do: the number stands in every tag, and each context counts calls
// of its own. Ranks are a communicator's; peers are those that Peers knows, by its numbers.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/exec/counters.hpp"
#include "src/exec/peer_counters.hpp"
#include "src/exec/peers.hpp"
#include "src/spi/transport.hpp"

namespace hocket {

class StepRecorder;

// What counts for every other rank of a context, so that a call need not count them one by one: bytes that are carried.
inline constexpr Rank every_rank = no_rank;

class Context {
 public:
  struct Identity {
    std::uint32_t number = 0;      // different for any two communicators that have two ranks in common
    std::string name = {};         // for messages
    std::vector<Rank> peers = {};  // by rank; empty: every rank's peer has its number
  };

  // What those of one executor share; both are for the thread that progresses.
  struct Shared {
    StepRecorder* steps = nullptr;  // where steps of calls are recorded; null: nowhere
    std::uint64_t ended = 0;        // how many messages links have brought to their end
  };

  Context() = default;
  // `size`: how many ranks it has; 0: that is not known, and nothing is counted for each of them.
  explicit Context(Identity identity, Rank size = 0, std::shared_ptr<Shared> shared = std::make_shared<Shared>())
      : identity_(std::move(identity)), by_rank_(static_cast<std::size_t>(size)), shared_(std::move(shared)) {}
  // Some ranks of this one, for parts of its calls; numbered as they are given. Before its first call.
  std::shared_ptr<Context> add_part(std::span<const Rank> ranks) {
    Identity identity{.number = identity_.number, .name = identity_.name};
    for (const Rank rank : ranks) identity.peers.push_back(peer_of(rank));
    auto part = std::make_shared<Context>(std::move(identity), static_cast<Rank>(ranks.size()), shared_);
    const std::lock_guard lock(adding_parts_);
    return parts_.emplace_back(std::move(part));
  }

  // ---- constant ----
  const Identity& identity() const { return identity_; }
  std::uint32_t number() const { return identity_.number; }
  const std::string& name() const { return identity_.name; }
  Rank peer_of(Rank rank) const {
    return identity_.peers.empty() ? rank : identity_.peers[static_cast<std::size_t>(rank)];
  }
  // Requires has(peer).
  Rank rank_of(Rank peer) const {
    const auto& peers = identity_.peers;
    return peers.empty() ? peer : static_cast<Rank>(std::find(peers.begin(), peers.end(), peer) - peers.begin());
  }
  // How many ranks it has, where `peers` are known.
  Rank size(Rank peers) const { return identity_.peers.empty() ? peers : static_cast<Rank>(identity_.peers.size()); }
  bool has(Rank peer) const {
    const auto& peers = identity_.peers;
    return peers.empty() || std::find(peers.begin(), peers.end(), peer) != peers.end();
  }

  // ---- sequence numbers ----
  // Any thread.
  std::uint64_t next_collective() { return ++collectives_; }
  // Before any call: the next collective, by which the ranks meet, is number 0, so that the caller's first is number 1.
  void begin_with_number_0() { collectives_ = ~std::uint64_t{0}; }
  // That of the latest send or recv, which the next one raises; it stays where it is. Only for the thread that
  // progresses.
  std::uint64_t& latest_message(const Direction& direction) {
    const auto peer = static_cast<std::size_t>(direction.peer);
    if (peer >= messages_.size()) [[unlikely]]
      messages_.resize(peer + 1);
    return direction.outgoing ? messages_[peer].sent : messages_[peer].received;
  }

  // ---- for the thread that progresses ----
  Counters& counters() { return counters_; }
  Shared& shared() const { return *shared_; }
  // `rank`: one of its own, or every_rank.
  PeerCounters& with(Rank rank) {
    const auto place = static_cast<std::size_t>(rank);
    return place < by_rank_.size() ? by_rank_[place] : with_each_;
  }
  // Finished collectives in which another rank may still wait for this one over links.
  void remember(const Tag& tag) { past_calls_[tag.sequence % past_calls_.size()] = tag; }
  // Null where it is forgotten, or there was none.
  const Tag* past(std::uint32_t sequence) const {
    const Tag& tag = past_calls_[sequence % past_calls_.size()];
    return tag.sequence == sequence && sequence != 0 ? &tag : nullptr;
  }

  // ---- for any thread ----
  Counters counted() const {
    Counters all = counters_;
    const std::lock_guard lock(adding_parts_);
    for (const auto& part : parts_) all += part->counters_;
    return all;
  }
  // Requires a rank of its own, and another one than this process's.
  PeerCounters::Values counted_with(Rank rank) const {
    PeerCounters::Values values = by_rank_[static_cast<std::size_t>(rank)].get();
    values.add(with_each_.get());
    const std::lock_guard lock(adding_parts_);
    for (const auto& part : parts_) {
      if (part->has(peer_of(rank))) values.add(part->counted_with(part->rank_of(peer_of(rank))));
    }
    return values;
  }
  // How many collectives were called.
  std::uint64_t calls() const { return collectives_; }

 private:
  const Identity identity_;
  std::atomic<std::uint64_t> collectives_{0};  // sequence number of the latest
  struct Messages {
    std::uint64_t sent = 0, received = 0;
  };
  std::deque<Messages> messages_;  // likewise, by peer
  Counters counters_;
  std::vector<PeerCounters> by_rank_;
  PeerCounters with_each_;
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  mutable std::mutex adding_parts_;  // others may count already
  std::vector<std::shared_ptr<Context>> parts_;
  std::array<Tag, 64> past_calls_{};  // by sequence number
};

}  // namespace hocket
