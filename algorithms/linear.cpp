// Linear algorithms: everything goes through one rank, one message each way for every other rank. The fewest messages
// that there can be, 2(N - 1), where all ranks depend on all: the best for tiny data where ranks outnumber cores, since
// each rank but one waits once.
#include "algorithms/algorithms.hpp"
#include "algorithms/blocks.hpp"

namespace hocket::algorithms {

// 2 rounds; rank 0 receives and then sends (N - 1) · S, in rank order.
void linear_allreduce(const Shape& shape, Script& script) {
  const Range input = script.input(0), output = script.output(0);
  if (shape.size == 1) return script.copy(input, output);
  if (shape.rank != 0) {
    script.send(0, input);
    script.recv(0, output);
    return;
  }
  for (Rank rank = 1; rank < shape.size; ++rank) script.recv_reduce(rank, rank == 1 ? input : output, output);
  for (Rank rank = 1; rank < shape.size; ++rank) script.send(rank, output);
}

// 1 round; the root receives (N - 1) · S and sums in rank order. Its input may lie where its output does, so what comes
// before it is summed in a cell.
void linear_reduce(const Shape& shape, Script& script) {
  const Range input = script.input(0);
  if (shape.rank != shape.root) return script.send(shape.root, input);
  const Range output = script.output(0);
  if (shape.size == 1) return script.copy(input, output);
  Range sum = input;
  if (shape.root > 0) {
    const Range before = script.scratch(input);
    script.recv(0, before);
    for (Rank rank = 1; rank < shape.root; ++rank) script.recv_reduce(rank, before, before);
    script.reduce(before, input, output);
    sum = output;
  }
  for (Rank rank = shape.root + 1; rank < shape.size; ++rank) {
    script.recv_reduce(rank, sum, output);
    sum = output;
  }
}

// 2 rounds; rank 0 receives (N - 1) · S, sums in rank order and sends (N - 1)/N · S. Its scratch is as large as S.
void linear_reduce_scatter(const Shape& shape, Script& script) {
  const Range input = script.input(0, shape.chunks), own = script.output(shape.rank);
  if (shape.size == 1) return script.copy(input, own);
  if (shape.rank != 0) {
    script.send(0, input);
    script.recv(0, own);
    return;
  }
  const Range sum = script.scratch(input);
  for (Rank rank = 1; rank < shape.size; ++rank) script.recv_reduce(rank, rank == 1 ? input : sum, sum);
  for (std::uint32_t chunk = 1; chunk < shape.chunks; ++chunk) {
    script.send(static_cast<Rank>(chunk), Script::part(sum, chunk, 1));
  }
  script.copy(Script::part(sum, 0, 1), own);
}

// 2 rounds; rank 0 receives (N - 1)/N · S and sends (N - 1) · S.
void linear_allgather(const Shape& shape, Script& script) {
  const Range all = script.output(0, shape.chunks);
  if (shape.rank != 0) {
    script.send(0, script.input(shape.rank));
    script.recv(0, all);
    return;
  }
  script.copy(script.input(0), script.output(0));
  for (Rank rank = 1; rank < shape.size; ++rank) script.recv(rank, script.output(rank));
  for (Rank rank = 1; rank < shape.size; ++rank) script.send(rank, all);
}

// 2 rounds of one byte to rank 0 and back. What is heard is summed for the reason that dissemination_barrier() gives.
void linear_barrier(const Shape& shape, Script& script) {
  if (shape.size == 1) return;
  const Range heard = script.scratch(script.output(0));
  if (shape.rank != 0) {
    script.send(0, heard);
    script.recv_reduce(0, heard, heard);
    return;
  }
  for (Rank rank = 1; rank < shape.size; ++rank) script.recv_reduce(rank, heard, heard);
  for (Rank rank = 1; rank < shape.size; ++rank) script.send(rank, heard);
}

// 1 round; the root sends (N - 1)/N · S.
void linear_scatter(const Shape& shape, Script& script) {
  if (shape.rank != shape.root) return script.recv(shape.root, script.output(shape.rank));
  for_each_peer(shape, [&](Rank peer) { script.send(peer, script.input(peer)); });
  script.copy(script.input(shape.rank), script.output(shape.rank));
}

// 1 round; the root receives (N - 1)/N · S.
void linear_gather(const Shape& shape, Script& script) {
  if (shape.rank != shape.root) return script.send(shape.root, script.input(shape.rank));
  for_each_peer(shape, [&](Rank peer) { script.recv(peer, script.output(peer)); });
  script.copy(script.input(shape.rank), script.output(shape.rank));
}

}  // namespace hocket::algorithms
