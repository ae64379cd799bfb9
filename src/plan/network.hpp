// Network: a described set of machines and the links between them, on which schedules are simulated and costed. A
// description comes from a file, from a person or, measured, from a probe; nothing here measures anything.
//
// Every rank has a processor of its own for messages and reductions, but ranks of one host share its cores. A message
// passes links one after the other, each first come, first served, and flows through them (cut-through): its head
// waits where a link is busy, and its tail follows at the pace of the slowest.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "src/plan/machine_class.hpp"
#include "src/spi/status.hpp"
#include "src/spi/topology.hpp"
#include "src/spi/types.hpp"

namespace hocket {

using Picoseconds = std::int64_t;  // exact, and long enough for 100 days

// What a message costs on one class of link. Seconds; 0 is free.
struct LinkCost {
  double latency = 0;           // from the last byte sent to the receiver's processor (α)
  double send = 0;              // sender's processor, per message
  double receive = 0;           // receiver's processor, per message
  double send_per_byte = 0;     // sender's processor: copies
  double receive_per_byte = 0;  // receiver's processor: copies
  double wire_per_byte = 0;     // 1 / bandwidth (β)
  double wake = 0;              // receiver's processor, where it had nothing to do and shares cores with others
  Rank streams = 1;             // connections that it takes to fill it, with which the others were measured
};

// What a collective over memory that all its ranks see costs (docs/internals/direct-paths.md). Seconds; 0 is free.
struct DirectCost {
  double call = 0;               // rank's processor, per call
  double line = 0;               // rank's processor, per line that another one has written
  double flag = 0;               // from when a line is written until another rank sees it
  double wake = 0;               // processor, per time slice of a rank that shares cores with others
  double copy_per_byte = 0;      // into and out of staging, of what lies in caches
  double reduce_per_byte = 0;    // of operands after the first, likewise
  double far_copy_per_byte = 0;  // the same where buffers exceed the caches
  double far_reduce_per_byte = 0;
  double cache_bytes = 0;  // of one rank's input and output
  double read = 0;         // processor, per read of another one's plain memory
  double read_per_byte = 0;
  bool reads_plain_memory = true;  // whether it can be read

  // Whether calls read it where they may choose: if a read takes at most so many times as long as a copy.
  bool saves_time_by_reading(double read_ratio_max) const {
    return reads_plain_memory && read_per_byte <= read_ratio_max * copy_per_byte;
  }
};

enum class NetworkKind : std::uint8_t {
  flat,      // every rank on a host of its own, all on one switch
  hosts,     // ranks_per_host adjoining ranks share a host: memory inside, one card for the way out
  torus,     // rows × columns ranks, each linked with four neighbours; along the row first, the shorter way
  fat_tree,  // ranks_per_leaf adjoining ranks on one switch, whose way up is `oversubscription` times too narrow
};

inline constexpr NetworkKind all_network_kinds[] = {NetworkKind::flat, NetworkKind::hosts, NetworkKind::torus,
                                                    NetworkKind::fat_tree};

constexpr std::string_view name_of(NetworkKind kind) {
  switch (kind) {
    case NetworkKind::flat: return "flat";
    case NetworkKind::hosts: return "hosts";
    case NetworkKind::torus: return "torus";
    case NetworkKind::fat_tree: return "fat_tree";
  }
  return "unknown network";
}

// Something that is `factor` times slower than the rest: a rank (its processor and its own links), or what goes from
// one rank to another.
struct Slow {
  Rank rank = no_rank;
  Rank from = no_rank, to = no_rank;
  double factor = 1;
};

struct NetworkDescription {
  NetworkKind kind = NetworkKind::flat;
  Rank ranks = 1;
  Rank ranks_per_host = 1;             // hosts; the last host may have fewer
  Rank rows = 1, columns = 1;          // torus
  Rank ranks_per_leaf = 1;             // fat_tree; the last switch may have fewer
  double oversubscription = 1;         // fat_tree, at least 1
  Rank cores_per_host = 0;             // 0: one for each rank
  LinkCost link{};                     // between hosts; torus: latency and wire of each hop
  LinkCost local{};                    // hosts: inside one
  std::optional<DirectCost> direct{};  // hosts: instead of messages where all ranks share memory; nothing: they do not
  double copy_per_byte = 0;            // processor seconds of a schedule's own copies
  double reduce_per_byte = 0;          // processor seconds per byte of the result (γ)
  std::vector<Slow> slow{};
};

class Network {
 public:
  // invalid_argument names the field first: "ranks_per_host: …".
  static Result<Network> make(const NetworkDescription& description);

  // How a message goes from one rank to another. Links are numbers below links().
  struct Route {
    const LinkCost* cost = nullptr;
    Picoseconds latency = 0;
    std::vector<std::uint32_t> links;
  };

  const NetworkDescription& description() const { return description_; }
  Rank size() const { return description_.ranks; }
  const Topology& topology() const { return topology_; }
  Rank host_of(Rank rank) const { return rank / per_host_; }
  Rank hosts() const { return (size() + per_host_ - 1) / per_host_; }
  // 0: as many as ranks, so nobody waits for one.
  Rank cores_per_host() const { return description_.cores_per_host; }
  // Whether ranks of some host wait for one another's cores.
  bool is_crowded() const { return cores_per_host() != 0 && cores_per_host() < std::min(per_host_, size()); }

  // The cores that all ranks share, where these are on one host and more than the cores; else 0.
  Rank scarce_cores() const { return hosts() == 1 && is_crowded() ? cores_per_host() : 0; }
  // What an interface between the hosts would tell.
  NetworkSpeed speed() const;
  const MachineClass& machine() const { return machine_class_of(topology_, size(), scarce_cores(), speed()); }

  // By how many ranks all ranks can be turned, links and all, so that nothing changes: the fewest that are known.
  Rank period() const;
  // Of whom or of whose host or switch the link is: the lowest of these ranks; and the link that stands in its place
  // where all ranks are turned back by so many, a multiple of period().
  Rank first_rank_of(std::uint32_t link) const;
  std::uint32_t turned_back(std::uint32_t link, Rank ranks) const;

  std::size_t links() const { return wire_per_byte_.size(); }
  double wire_per_byte(std::uint32_t link) const { return wire_per_byte_[link]; }
  // How many times slower than others this rank's processor is.
  double slowness_of(Rank rank) const { return slowness_.empty() ? 1 : slowness_[static_cast<std::size_t>(rank)]; }
  // Requires from != to. `route` is an argument so that its memory can be used again.
  void find_route(Rank from, Rank to, Route& route) const;

 private:
  struct SlowPair {
    Rank from, to;
    double factor;
    std::uint32_t link;
  };

  // Links of one kind, of which so many adjoining ranks have `links` together.
  struct LinkBlock {
    std::uint32_t first = 0;
    Rank ranks = 1;
    std::uint32_t links = 1;
  };

  explicit Network(const NetworkDescription& description);
  LinkBlock block_of(std::uint32_t link) const;
  void add_links(Rank count, double per_byte) {
    wire_per_byte_.insert(wire_per_byte_.end(), static_cast<std::size_t>(count), per_byte);
  }
  void add_slow();
  void find_torus_route(Rank from, Rank to, Route& route) const;
  void find_tree_route(Rank from, Rank to, Route& route) const;

  NetworkDescription description_;
  Topology topology_;
  Rank per_host_ = 1;
  std::vector<double> wire_per_byte_;  // by link
  std::vector<double> slowness_;       // by rank; empty: nobody is slow
  std::vector<SlowPair> slow_pairs_;
};

// Rounded to the nearest.
inline Picoseconds picoseconds(double seconds) {
  return std::llround(seconds * 1e12);
}
constexpr double seconds(Picoseconds time) {
  return static_cast<double>(time) * 1e-12;
}
constexpr double microseconds(Picoseconds time) {
  return static_cast<double>(time) * 1e-6;
}

}  // namespace hocket
