// Direct algorithms: every message goes straight from the rank that has the data to the one that needs it. The fewest
// steps, one message for each pair. For all-to-all personalised exchange see R. Thakur, R. Rabenseifner and W. Gropp,
// "Optimization of collective communication operations in MPICH", International Journal of High Performance Computing
// Applications 19 (2005), section 4.3.
#include <vector>

#include "algorithms/blocks.hpp"
#include "src/spi/schedule.hpp"

namespace hocket::algorithms {
namespace {

// Receives every other rank's part for `mine` into a cell of its own and sums in rank order into `sum`. Only the last
// reduction writes `sum`, which may be the memory of `mine`.
void receive_and_sum(const Shape& shape, Range mine, Range sum, ScheduleBuilder& builder) {
  std::vector<Range> parts(static_cast<std::size_t>(shape.size), mine);
  for (Rank rank = 0; rank < shape.size; ++rank) {
    if (rank != shape.rank) builder.recv(rank, parts[rank] = builder.scratch(mine));
  }
  Range total = parts[0];
  const Range partial = parts[shape.rank == 0 ? 1 : 0];  // a cell that is free to be written when it has been added
  for (Rank rank = 1; rank < shape.size; ++rank) {
    const Range to = rank == shape.size - 1 ? sum : partial;
    builder.reduce(total, parts[rank], to);
    total = to;
  }
}

// Sends `own` to all and receives their chunks into the output.
void exchange(const Shape& shape, Range own, ScheduleBuilder& builder) {
  for_each_peer(shape, [&](Rank peer) { builder.send(peer, own); });
  for (Rank rank = 0; rank < shape.size; ++rank) {
    if (rank != shape.rank) builder.recv(rank, builder.output(rank));
  }
}

}  // namespace

// 1 round; sends and receives (N - 1) · S. All ranks sum in rank order.
void one_shot_allreduce(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.size == 1) return builder.copy(builder.input(0), builder.output(0));
  for_each_peer(shape, [&](Rank peer) { builder.send(peer, builder.input(0)); });
  receive_and_sum(shape, builder.input(0), builder.output(0), builder);
}

// 1 round; sends and receives (N - 1)/N · S. Sums in rank order.
void direct_reduce_scatter(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.size == 1) return builder.copy(builder.input(0), builder.output(0));
  for_each_peer(shape, [&](Rank peer) { builder.send(peer, builder.input(peer)); });
  receive_and_sum(shape, builder.input(shape.rank), builder.output(shape.rank), builder);
}

// 1 round; sends and receives (N - 1)/N · S.
void direct_allgather(const Shape& shape, ScheduleBuilder& builder) {
  exchange(shape, builder.input(shape.rank), builder);
  builder.copy(builder.input(shape.rank), builder.output(shape.rank));
}

// Reduce-scatter, then allgather, both direct: 2 rounds; sends and receives 2(N - 1)/N · S in 2(N - 1) messages.
void two_shot_allreduce(const Shape& shape, ScheduleBuilder& builder) {
  direct_reduce_scatter(shape, builder);
  exchange(shape, builder.output(shape.rank), builder);
}

// 1 round of N - 1 messages, the k-th to the k-th rank on the right and from the k-th on the left; sends and receives
// (N - 1)/N · S. Not in place: there is no such form of alltoall.
void pairwise_alltoall(const Shape& shape, ScheduleBuilder& builder) {
  for (Rank distance = 1; distance < shape.size; ++distance) {
    const Rank to = (shape.rank + distance) % shape.size;
    const Rank from = (shape.rank - distance + shape.size) % shape.size;
    builder.send(to, builder.input(to));
    builder.recv(from, builder.output(from));
  }
  builder.copy(builder.input(shape.rank), builder.output(shape.rank));
}

// One message to the peer, which shape.root names. None to oneself.
void direct_send(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.rank != shape.root) builder.send(shape.root, builder.input(0));
}

void direct_recv(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.rank != shape.root) builder.recv(shape.root, builder.output(0));
}

}  // namespace hocket::algorithms
