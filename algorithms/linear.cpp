// Linear algorithms: everything goes through one rank, one message each way for every other rank. The fewest messages
// that there can be, 2(N - 1), where all ranks depend on all: the best for tiny data where ranks outnumber cores, since
// each rank but one waits once.
#include "algorithms/blocks.hpp"
#include "src/spi/schedule.hpp"

namespace hocket::algorithms {

// 2 rounds; rank 0 receives and then sends (N - 1) · S, in rank order.
void linear_allreduce(const Shape& shape, ScheduleBuilder& builder) {
  const Range input = builder.input(0), output = builder.output(0);
  if (shape.size == 1) return builder.copy(input, output);
  if (shape.rank != 0) {
    builder.send(0, input);
    builder.recv(0, output);
    return;
  }
  for (Rank rank = 1; rank < shape.size; ++rank) builder.recv_reduce(rank, rank == 1 ? input : output, output);
  for (Rank rank = 1; rank < shape.size; ++rank) builder.send(rank, output);
}

// 1 round; the root receives (N - 1) · S and sums in rank order. Its input may lie where its output does, so what comes
// before it is summed in a cell.
void linear_reduce(const Shape& shape, ScheduleBuilder& builder) {
  const Range input = builder.input(0);
  if (shape.rank != shape.root) return builder.send(shape.root, input);
  const Range output = builder.output(0);
  if (shape.size == 1) return builder.copy(input, output);
  Range sum = input;
  if (shape.root > 0) {
    const Range before = builder.scratch(input);
    builder.recv(0, before);
    for (Rank rank = 1; rank < shape.root; ++rank) builder.recv_reduce(rank, before, before);
    builder.reduce(before, input, output);
    sum = output;
  }
  for (Rank rank = shape.root + 1; rank < shape.size; ++rank) {
    builder.recv_reduce(rank, sum, output);
    sum = output;
  }
}

// 2 rounds; rank 0 receives (N - 1) · S, sums in rank order and sends (N - 1)/N · S. Its scratch is as large as S.
void linear_reduce_scatter(const Shape& shape, ScheduleBuilder& builder) {
  const Range input = builder.input(0, shape.chunks), own = builder.output(shape.rank);
  if (shape.size == 1) return builder.copy(input, own);
  if (shape.rank != 0) {
    builder.send(0, input);
    builder.recv(0, own);
    return;
  }
  const Range sum = builder.scratch(input);
  for (Rank rank = 1; rank < shape.size; ++rank) builder.recv_reduce(rank, rank == 1 ? input : sum, sum);
  for (std::uint32_t chunk = 1; chunk < shape.chunks; ++chunk) {
    builder.send(static_cast<Rank>(chunk), ScheduleBuilder::part(sum, chunk, 1));
  }
  builder.copy(ScheduleBuilder::part(sum, 0, 1), own);
}

// 2 rounds; rank 0 receives (N - 1)/N · S and sends (N - 1) · S.
void linear_allgather(const Shape& shape, ScheduleBuilder& builder) {
  const Range all = builder.output(0, shape.chunks);
  if (shape.rank != 0) {
    builder.send(0, builder.input(shape.rank));
    builder.recv(0, all);
    return;
  }
  builder.copy(builder.input(0), builder.output(0));
  for (Rank rank = 1; rank < shape.size; ++rank) builder.recv(rank, builder.output(rank));
  for (Rank rank = 1; rank < shape.size; ++rank) builder.send(rank, all);
}

// 2 rounds of one byte to rank 0 and back. What is heard is summed for the reason that dissemination_barrier() gives.
void linear_barrier(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.size == 1) return;
  const Range heard = builder.scratch(builder.output(0));
  if (shape.rank != 0) {
    builder.send(0, heard);
    builder.recv_reduce(0, heard, heard);
    return;
  }
  for (Rank rank = 1; rank < shape.size; ++rank) builder.recv_reduce(rank, heard, heard);
  for (Rank rank = 1; rank < shape.size; ++rank) builder.send(rank, heard);
}

// 1 round; the root sends (N - 1)/N · S.
void linear_scatter(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.rank != shape.root) return builder.recv(shape.root, builder.output(shape.rank));
  for_each_peer(shape, [&](Rank peer) { builder.send(peer, builder.input(peer)); });
  builder.copy(builder.input(shape.rank), builder.output(shape.rank));
}

// 1 round; the root receives (N - 1)/N · S.
void linear_gather(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.rank != shape.root) return builder.send(shape.root, builder.input(shape.rank));
  for_each_peer(shape, [&](Rank peer) { builder.recv(peer, builder.output(peer)); });
  builder.copy(builder.input(shape.rank), builder.output(shape.rank));
}

}  // namespace hocket::algorithms
