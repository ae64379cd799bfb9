// Two levels in lower precision: what stays on a host is exact, what moves between hosts is encoded. Every host's sum
// is rounded once, at the rank that takes it, and every result once, as contributions and results are without levels
// (encoded.cpp). A host's sum is taken in rank order and a result in the order of hosts, so the bits depend on the
// inputs and on which ranks share a host, and on nothing else.
//
// Costs: N ranks on H hosts, R of them on this one; S encoded bytes. Rails are those of two_level.cpp.
#include <vector>

#include "algorithms/hosts.hpp"
#include "src/spi/schedule.hpp"

namespace hocket::algorithms {
namespace {

// Sums up `mine` of all ranks of this host, in rank order; the others send theirs. Returns where the sum is: `cell`,
// or the input where the rank is alone.
Range sum_on_host(const Hosts& hosts, Range mine, Range cell, ScheduleBuilder& builder) {
  const std::vector<Rank>& ranks = hosts.ranks[static_cast<std::size_t>(hosts.own)];
  const Rank own = hosts.rank_at(hosts.own, hosts.local);
  Range sum = mine;
  if (ranks.front() != own) builder.recv(ranks.front(), sum = cell);
  for (std::size_t number = 1; number < ranks.size(); ++number) {
    if (ranks[number] == own) {
      builder.reduce(sum, mine, cell);
    } else {
      builder.recv_reduce(ranks[number], sum, cell);
    }
    sum = cell;
  }
  return sum;
}

// Sums up the parts, by host, in the output.
void sum_hosts(const std::vector<Range>& parts, Range sum, ScheduleBuilder& builder) {
  builder.copy(parts[0], sum);
  for (std::size_t host = 1; host < parts.size(); ++host) builder.reduce(sum, parts[host], sum);
}

}  // namespace

// Rail l works on the l-th of L parts, cut into H chunks. Its rank on each host sums up what the host's ranks have of
// it and sends the h-th chunk, encoded, to the rail's rank on host h, which sums up all hosts' and sends the result
// back to all. Between hosts: 2 rounds, each host sends and receives 2(H - 1)/H · S, the least possible. Two roundings.
void encoded_two_level_allreduce(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.size == 1) return builder.copy(builder.input(0), builder.output(0));
  const Hosts hosts(shape);
  const Rank rails = static_cast<Rank>(shape.chunks) / hosts.count;
  const auto chunk_of = [&](Rank rail, Rank host) { return std::int64_t{rail} * hosts.count + host; };

  for_each_neighbour(hosts, [&](Rank peer, Rank number) {
    if (number >= rails) return;
    for (Rank distance = 1; distance <= hosts.count; ++distance) {
      builder.send(peer, builder.input(chunk_of(number, hosts.after(distance))));
    }
  });
  if (hosts.local < rails) {
    const Rank rail = hosts.local;
    std::vector<Range> mine(static_cast<std::size_t>(hosts.count)), parts = mine;
    for (Rank distance = 1; distance <= hosts.count; ++distance) {  // the own host's last: nobody waits for it
      const Rank host = hosts.after(distance);
      const Range chunk = builder.input(chunk_of(rail, host));
      const Range cell = hosts.size_of(hosts.own) == 1 ? chunk : builder.scratch(chunk);
      builder.copy(sum_on_host(hosts, chunk, cell, builder), mine[host] = builder.encoded(chunk));
      if (host != hosts.own) builder.send(hosts.rank_at(host, rail), mine[host]);
    }
    const Range sum = builder.output(chunk_of(rail, hosts.own));
    for (Rank host = 0; host < hosts.count; ++host) {
      parts[host] = host == hosts.own ? mine[host] : builder.encoded(sum);
      if (host != hosts.own) builder.recv(hosts.rank_at(host, rail), parts[host]);
    }
    sum_hosts(parts, sum, builder);

    // A result comes back into the cell from which this host's sum was sent: by then that has arrived.
    builder.copy(sum, mine[hosts.own]);
    for (Rank distance = 1; distance < hosts.count; ++distance) {
      builder.send(hosts.rank_at(hosts.after(distance), rail), mine[hosts.own]);
    }
    for (Rank distance = 0; distance < hosts.count; ++distance) {
      const Rank host = hosts.before(distance);
      const Range result = builder.output(chunk_of(rail, host));
      if (host != hosts.own) builder.recv(hosts.rank_at(host, rail), mine[host]);
      builder.copy(mine[host], result);
      for_each_neighbour(hosts, [&](Rank peer, Rank) { builder.send(peer, result); });
    }
  }
  for_each_neighbour_backwards(hosts, [&](Rank peer, Rank number) {
    if (number >= rails) return;
    for (Rank distance = 0; distance < hosts.count; ++distance) {
      builder.recv(peer, builder.output(chunk_of(number, hosts.before(distance))));
    }
  });
}

// Each host sums up every block at one of its ranks, which sends that sum, encoded, to the block's owner. Between
// hosts: 1 round; a host sends (N - R)/N · S, the least possible. One rounding.
void encoded_two_level_reduce_scatter(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.size == 1) return builder.copy(builder.input(0), builder.output(0));
  const Hosts hosts(shape);
  std::vector<Range> parts(static_cast<std::size_t>(hosts.count));  // of the own block
  Range cell = builder.input(shape.rank);
  if (hosts.size_of(hosts.own) > 1) cell = builder.scratch(cell);
  for (Rank distance = 1; distance <= hosts.count; ++distance) {  // the own host's last: nobody waits for it
    const Rank to = hosts.after(distance);
    for (Rank number = 0; number < hosts.size_of(to); ++number) {
      const Rank owner = hosts.rank_at(to, number);
      const Rank summing = hosts.rank_at(hosts.own, number);
      const Range block = builder.input(owner);
      if (summing != shape.rank) {
        builder.send(summing, block);
        continue;
      }
      const Range encoded = builder.encoded(block);
      builder.copy(sum_on_host(hosts, block, ScheduleBuilder::at(cell, block), builder), encoded);
      if (owner == shape.rank) {
        parts[hosts.own] = encoded;
      } else {
        builder.send(owner, encoded);
      }
    }
  }
  for (Rank host = 0; host < hosts.count; ++host) {
    if (host == hosts.own) continue;
    builder.recv(hosts.rank_at(host, hosts.local), parts[host] = builder.encoded(builder.input(shape.rank)));
  }
  sum_hosts(parts, builder.output(shape.rank), builder);
}

// Every rank encodes its block and sends it to one rank of each other host, which decodes it for all ranks there; the
// ranks of its own host get it decoded, too. Between hosts: 1 round; a host receives (N - R)/N · S, the least possible.
// One rounding.
void encoded_two_level_allgather(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.size == 1) return builder.copy(builder.input(0), builder.output(0));
  const Hosts hosts(shape);
  const Range own = builder.encoded(builder.output(shape.rank));
  builder.copy(builder.input(shape.rank), own);
  for (Rank distance = 0; distance < hosts.count; ++distance) {
    if (distance > 0) builder.send(hosts.rank_at(hosts.after(distance), hosts.local), own);
    const Rank from = hosts.before(distance);
    for (Rank number = 0; number < hosts.size_of(from); ++number) {
      const Rank source = hosts.rank_at(from, number);
      const Rank passing = hosts.rank_at(hosts.own, number);
      const Range block = builder.output(source);
      if (passing != shape.rank) {
        builder.recv(passing, block);
        continue;
      }
      const Range cell = source == shape.rank ? own : builder.encoded(block);
      if (source != shape.rank) builder.recv(source, cell);
      builder.copy(cell, block);
      for_each_neighbour(hosts, [&](Rank peer, Rank) { builder.send(peer, block); });
    }
  }
}

}  // namespace hocket::algorithms
