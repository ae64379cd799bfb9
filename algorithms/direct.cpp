// Direct algorithms: every message goes straight from the rank that has the data to the one that needs it. The fewest
// steps, one message for each pair. For all-to-all personalised exchange see R. Thakur, R. Rabenseifner and W. Gropp,
// "Optimization of collective communication operations in MPICH", International Journal of High Performance Computing
// Applications 19 (2005), section 4.3.
#include <vector>

#include "algorithms/algorithms.hpp"
#include "algorithms/blocks.hpp"

namespace hocket::algorithms {
namespace {

// Receives every other rank's part for `mine` into a cell of its own and sums in rank order into `sum`. Only the last
// reduction writes `sum`, which may be the memory of `mine`.
void receive_and_sum(const Shape& shape, Range mine, Range sum, Script& script) {
  std::vector<Range> parts(static_cast<std::size_t>(shape.size), mine);
  for (Rank rank = 0; rank < shape.size; ++rank) {
    if (rank != shape.rank) script.recv(rank, parts[rank] = script.scratch(mine));
  }
  Range total = parts[0];
  for (Rank rank = 1; rank < shape.size; ++rank) {
    const Range partial = rank == shape.rank ? total : parts[rank];  // a cell that is free to be written
    const Range to = rank == shape.size - 1 ? sum : partial;
    script.reduce(total, parts[rank], to);
    total = to;
  }
}

// Sends `own` to all and receives their chunks into the output.
void exchange(const Shape& shape, Range own, Script& script) {
  for_each_peer(shape, [&](Rank peer) { script.send(peer, own); });
  for (Rank rank = 0; rank < shape.size; ++rank) {
    if (rank != shape.rank) script.recv(rank, script.output(rank));
  }
}

}  // namespace

// 1 round; sends and receives (N - 1) · S. All ranks sum in rank order.
void one_shot_allreduce(const Shape& shape, Script& script) {
  if (shape.size == 1) return script.copy(script.input(0), script.output(0));
  for_each_peer(shape, [&](Rank peer) { script.send(peer, script.input(0)); });
  receive_and_sum(shape, script.input(0), script.output(0), script);
}

// 1 round; sends and receives (N - 1)/N · S. Sums in rank order.
void direct_reduce_scatter(const Shape& shape, Script& script) {
  if (shape.size == 1) return script.copy(script.input(0), script.output(0));
  for_each_peer(shape, [&](Rank peer) { script.send(peer, script.input(peer)); });
  receive_and_sum(shape, script.input(shape.rank), script.output(shape.rank), script);
}

// 1 round; sends and receives (N - 1)/N · S.
void direct_allgather(const Shape& shape, Script& script) {
  exchange(shape, script.input(shape.rank), script);
  script.copy(script.input(shape.rank), script.output(shape.rank));
}

// Reduce-scatter, then allgather, both direct: 2 rounds; sends and receives 2(N - 1)/N · S in 2(N - 1) messages.
void two_shot_allreduce(const Shape& shape, Script& script) {
  direct_reduce_scatter(shape, script);
  exchange(shape, script.output(shape.rank), script);
}

// 1 round of N - 1 messages, the k-th to the k-th rank on the right and from the k-th on the left; sends and receives
// (N - 1)/N · S. Not in place: there is no such form of alltoall.
void pairwise_alltoall(const Shape& shape, Script& script) {
  for (Rank distance = 1; distance < shape.size; ++distance) {
    const Rank to = (shape.rank + distance) % shape.size;
    const Rank from = (shape.rank - distance + shape.size) % shape.size;
    script.send(to, script.input(to));
    script.recv(from, script.output(from));
  }
  script.copy(script.input(shape.rank), script.output(shape.rank));
}

// One message to the peer, which shape.root names. None to oneself.
void direct_send(const Shape& shape, Script& script) {
  if (shape.rank != shape.root) script.send(shape.root, script.input(0));
}

void direct_recv(const Shape& shape, Script& script) {
  if (shape.rank != shape.root) script.recv(shape.root, script.output(0));
}

}  // namespace hocket::algorithms
