// Ranks by host, as algorithms of two levels count them.
#pragma once

#include <vector>

#include "src/spi/schedule.hpp"

namespace hocket::algorithms {

// Which ranks share a host. Ranks of one host need not adjoin, and hosts may have different numbers of them.
struct Hosts {
  explicit Hosts(const Shape& shape)
      : ranks(shape.topology.ranks_by_host(shape.size)),
        count(shape.topology.hosts()),
        own(shape.topology.host_of(shape.rank)),
        local(number_of(shape.rank, own)) {}

  Rank size_of(Rank host) const { return static_cast<Rank>(ranks[static_cast<std::size_t>(host)].size()); }
  // Numbers go round: a host with few ranks serves several of a host with many.
  Rank rank_at(Rank host, Rank number) const {
    return ranks[static_cast<std::size_t>(host)][static_cast<std::size_t>(number % size_of(host))];
  }
  Rank number_of(Rank rank, Rank host) const {
    Rank number = 0;
    while (rank_at(host, number) != rank) ++number;
    return number;
  }
  Rank after(Rank distance) const { return (own + distance) % count; }
  Rank before(Rank distance) const { return (own - distance + count) % count; }

  std::vector<std::vector<Rank>> ranks;  // by host, ascending
  Rank count;
  Rank own;    // host of this rank
  Rank local;  // this rank's number on it
};

// The other ranks of this host with their numbers, the right neighbour first, so that not all begin with the same one.
template <class Visit>
void for_each_neighbour(const Hosts& hosts, Visit visit) {
  const Rank size = hosts.size_of(hosts.own);
  for (Rank distance = 1; distance < size; ++distance) {
    const Rank number = (hosts.local + distance) % size;
    visit(hosts.rank_at(hosts.own, number), number);
  }
}

// The same from the left neighbour on: the order in which they turn to this rank.
template <class Visit>
void for_each_neighbour_backwards(const Hosts& hosts, Visit visit) {
  const Rank size = hosts.size_of(hosts.own);
  for (Rank distance = 1; distance < size; ++distance) {
    const Rank number = (hosts.local - distance + size) % size;
    visit(hosts.rank_at(hosts.own, number), number);
  }
}

}  // namespace hocket::algorithms
