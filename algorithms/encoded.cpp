// Algorithms for lower precision on the wire. A ring would round a partial sum in every step, so errors would grow with
// N; here every contribution is rounded once, at its rank, and every result once, at the rank that sums it up in rank
// order and in full precision. All ranks, that one too, decode the same bytes, so all have the same bits; and as a
// rank's own contribution is rounded like all others, these bits depend on the inputs and N alone. Bytes are encoded
// ones.
#include <vector>

#include "algorithms/blocks.hpp"
#include "src/spi/schedule.hpp"

namespace hocket::algorithms {
namespace {

// Encodes the input's chunks, sends each to its owner and sums the own one up in the output. Returns the cells of this
// rank's chunks, by rank, which are free again when a peer has answered.
std::vector<Range> encode_and_sum(const Shape& shape, ScheduleBuilder& builder) {
  std::vector<Range> mine(static_cast<std::size_t>(shape.size)), parts = mine;
  for_each_peer(shape, [&](Rank peer) {
    mine[peer] = builder.encoded(builder.input(peer));
    builder.copy(builder.input(peer), mine[peer]);
    builder.send(peer, mine[peer]);
  });
  const Range own = builder.input(shape.rank), sum = builder.output(shape.rank);
  mine[shape.rank] = parts[shape.rank] = builder.encoded(own);
  builder.copy(own, mine[shape.rank]);
  for (Rank rank = 0; rank < shape.size; ++rank) {
    if (rank != shape.rank) builder.recv(rank, parts[rank] = builder.encoded(own));
  }
  builder.copy(parts[0], sum);
  for (Rank rank = 1; rank < shape.size; ++rank) builder.reduce(sum, parts[rank], sum);
  return mine;
}

// Encodes `own`, sends it to all and receives theirs in `cells`, by rank; decodes all of them into the output.
void encode_and_exchange(const Shape& shape, Range own, const std::vector<Range>& cells, ScheduleBuilder& builder) {
  builder.copy(own, cells[shape.rank]);
  for_each_peer(shape, [&](Rank peer) { builder.send(peer, cells[shape.rank]); });
  for (Rank rank = 0; rank < shape.size; ++rank) {
    if (rank != shape.rank) builder.recv(rank, cells[rank]);
    builder.copy(cells[rank], builder.output(rank));
  }
}

}  // namespace

// 1 round; sends and receives (N - 1)/N · S. One rounding.
void encoded_reduce_scatter(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.size == 1) return builder.copy(builder.input(0), builder.output(0));
  encode_and_sum(shape, builder);
}

// 1 round; sends and receives (N - 1)/N · S. One rounding.
void encoded_allgather(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.size == 1) return builder.copy(builder.input(0), builder.output(0));
  std::vector<Range> cells;
  for (Rank rank = 0; rank < shape.size; ++rank) cells.push_back(builder.encoded(builder.output(rank)));
  encode_and_exchange(shape, builder.input(shape.rank), cells, builder);
}

// Reduce-scatter, then allgather: 2 rounds; sends and receives 2(N - 1)/N · S in 2(N - 1) messages. Two roundings. A
// result comes back into the cell from which this rank sent its contribution: by then that has arrived.
void encoded_two_shot_allreduce(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.size == 1) return builder.copy(builder.input(0), builder.output(0));
  const std::vector<Range> cells = encode_and_sum(shape, builder);
  encode_and_exchange(shape, builder.output(shape.rank), cells, builder);
}

}  // namespace hocket::algorithms
