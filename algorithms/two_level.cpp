// Two levels: ranks of one host exchange among themselves what they have, so that between hosts only the least possible
// moves, and all ranks of a host share that work. N. T. Karonis et al., "Exploiting hierarchy in parallel computer
// networks to optimize collective operation performance", IPDPS 2000; for several ranks of a host at the network: K.
// Kandalla et al., "Designing multi-leader-based allgather algorithms for multi-core clusters", IPDPS 2009.
//
// Costs: N ranks on H hosts, R of them on this one; L rails, as many as the host with the fewest ranks has ranks. A
// rail is one rank of each host. Ranks of one host need not adjoin, and hosts may have different numbers of them.
#include "algorithms/hosts.hpp"
#include "algorithms/ring.hpp"
#include "algorithms/tree.hpp"
#include "src/spi/schedule.hpp"

namespace hocket::algorithms {

// Rail l works on the l-th of L parts, cut into H chunks. On each host its rank gets what the others have of it, the
// ring of the rail's ranks sums it up, and each sends the result to the others of its host. Between hosts: 2(H - 1)
// steps, each host sends and receives 2(H - 1)/H · S, the least possible. On a host: 2(R - 1) · H messages of a rail's
// rank, 2(R - 1)/L · S.
void two_level_allreduce(const Shape& shape, ScheduleBuilder& builder) {
  const Hosts hosts(shape);
  if (shape.size == 1) return builder.copy(builder.input(0), builder.output(0));
  const Rank rails = static_cast<Rank>(shape.chunks) / hosts.count;
  const bool on_rail = hosts.local < rails;
  const auto ring_of = [&](Rank rail) {
    return Ring{.place = hosts.own,
                .size = hosts.count,
                .left = hosts.rank_at(hosts.before(1), rail),
                .right = hosts.rank_at(hosts.after(1), rail),
                .first_chunk = static_cast<std::uint32_t>(rail * hosts.count)};
  };
  // A rail's chunks in the order in which its ring takes them up, and in that in which it is done with them.
  const auto for_each_chunk = [&](Rank rail, Rank start, auto visit) {
    for (Rank step = 0; step < hosts.count; ++step) visit(ring_of(rail).chunk_of(start - step));
  };

  for_each_neighbour(hosts, [&](Rank peer, Rank number) {
    if (number >= rails) return;
    for_each_chunk(number, hosts.own - 1, [&](std::uint32_t chunk) { builder.send(peer, builder.input(chunk)); });
  });
  Space sums = Space::input;
  for_each_neighbour_backwards(hosts, [&](Rank peer, Rank) {
    if (!on_rail) return;
    for_each_chunk(hosts.local, hosts.own - 1, [&](std::uint32_t chunk) {
      builder.recv_reduce(peer, {sums, 0, chunk}, builder.output(chunk));
    });
    sums = Space::output;
  });

  if (on_rail) ring_allreduce_among(ring_of(hosts.local), sums, builder);

  for_each_neighbour(hosts, [&](Rank peer, Rank) {
    if (!on_rail) return;
    for_each_chunk(hosts.local, hosts.own, [&](std::uint32_t chunk) { builder.send(peer, builder.output(chunk)); });
  });
  for_each_neighbour_backwards(hosts, [&](Rank peer, Rank number) {
    if (number >= rails) return;
    for_each_chunk(number, hosts.own, [&](std::uint32_t chunk) { builder.recv(peer, builder.output(chunk)); });
  });
}

// Each host sums up every block at one of its ranks, which sends that partial sum to the block's owner. Between hosts:
// 1 round; a host sends (N - R)/N · S, the least possible. Hosts turn to each other in the order of their distance, on
// both sides, so partial sums may alternate between two cells: what one waits for is always nearer.
void two_level_reduce_scatter(const Shape& shape, ScheduleBuilder& builder) {
  const Hosts hosts(shape);
  Range sum = builder.input(shape.rank);  // of the own block
  Range cells[2];
  std::size_t cells_used = 0;
  const auto next_cell = [&](Range like) {
    Range& cell = cells[cells_used % 2];
    if (cells_used++ < 2) cell = builder.scratch(like);
    return ScheduleBuilder::at(cell, like);
  };
  for (Rank distance = 0; distance < hosts.count; ++distance) {
    const Rank to = hosts.after(distance);
    for (Rank number = 0; number < hosts.size_of(to); ++number) {
      const Rank owner = hosts.rank_at(to, number);
      const Rank summing = hosts.rank_at(hosts.own, number);
      const Range mine = builder.input(owner);
      if (summing != shape.rank) {
        builder.send(summing, mine);
        continue;
      }
      Range partial = mine;
      for_each_neighbour_backwards(hosts, [&](Rank peer, Rank) {
        const Range held = partial;
        if (held == mine) partial = distance == 0 ? builder.output(owner) : next_cell(mine);
        builder.recv_reduce(peer, held, partial);
      });
      if (distance == 0) {
        sum = partial;
      } else {
        builder.send(owner, partial);
      }
    }
    if (distance == 0) continue;
    builder.recv_reduce(hosts.rank_at(hosts.before(distance), hosts.local), sum, builder.output(shape.rank));
    sum = builder.output(shape.rank);
  }
  if (shape.size == 1) builder.copy(sum, builder.output(0));
}

// Every rank sends its block to one rank of each other host, which passes it on to the others there. Between hosts: 1
// round; a host receives (N - R)/N · S, the least possible.
void two_level_allgather(const Shape& shape, ScheduleBuilder& builder) {
  const Hosts hosts(shape);
  const Range own = builder.input(shape.rank);
  for (Rank distance = 0; distance < hosts.count; ++distance) {
    if (distance > 0) builder.send(hosts.rank_at(hosts.after(distance), hosts.local), own);
    const Rank from = hosts.before(distance);
    for (Rank number = 0; number < hosts.size_of(from); ++number) {
      const Rank source = hosts.rank_at(from, number);
      const Rank passing = hosts.rank_at(hosts.own, number);
      const Range block = source == shape.rank ? own : builder.output(source);
      if (passing != shape.rank) {
        builder.recv(passing, block);
        continue;
      }
      if (source != shape.rank) builder.recv(source, block);
      for_each_neighbour(hosts, [&](Rank peer, Rank) { builder.send(peer, block); });
    }
  }
  builder.copy(own, builder.output(shape.rank));
}

// The root gives each rail its chunk, one of L (or one in all); a binomial tree takes it along the rail, and another
// one, on each host, from the rail's rank to the others. Between hosts: ceil(log2 H) rounds; every host but the root's
// receives S, once.
void two_level_broadcast(const Shape& shape, ScheduleBuilder& builder) {
  const Hosts hosts(shape);
  const Rank root_host = shape.topology.host_of(shape.root);
  const Rank root_number = hosts.number_of(shape.root, root_host);
  const auto rails = static_cast<Rank>(shape.chunks);
  const bool is_root = shape.rank == shape.root;
  // Numbers on a host count from the root's, so that the root is on rail 0.
  const auto rank_at = [&](Rank host, Rank number) { return hosts.rank_at(host, root_number + number); };
  const auto data = [&](Rank rail) { return is_root ? builder.input(rail) : builder.output(rail); };

  const Place place(hosts.own, hosts.count, root_host);
  for (Rank rail = 0; rail < rails; ++rail) {
    const Rank holder = rank_at(hosts.own, rail);
    if (is_root && holder != shape.root) builder.send(holder, data(rail));
    if (holder != shape.rank) continue;
    if (!is_root) builder.recv(place.is_root() ? shape.root : rank_at(place.parent(), rail), data(rail));
    place.for_each_child([&](Rank bit) { builder.send(rank_at(place.child(bit), rail), data(rail)); });
  }

  const Rank size = hosts.size_of(hosts.own);
  const Rank number = (hosts.local - root_number % size + size) % size;
  for (Rank rail = 0; rail < rails; ++rail) {
    const Rank first = hosts.own == root_host && rail > 0 ? 1 : 0;  // not the root, which has it already
    if (number < first) continue;
    const Place local(number - first, size - first, rail - first);
    const auto rank_of = [&](Rank member) { return rank_at(hosts.own, first + member); };
    if (!local.is_root()) builder.recv(rank_of(local.parent()), data(rail));
    local.for_each_child([&](Rank bit) { builder.send(rank_of(local.child(bit)), data(rail)); });
  }
  if (is_root) builder.copy(builder.input(0u, shape.chunks), builder.output(0u, shape.chunks));
}

}  // namespace hocket::algorithms
