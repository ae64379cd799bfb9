// Ring algorithms: every rank sends to its right neighbour and receives from its left one, and every link carries the
// same load. P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", Journal
// of Parallel and Distributed Computing 69 (2009).
#include "algorithms/ring.hpp"

#include "algorithms/algorithms.hpp"

namespace hocket::algorithms {
namespace {

Ring ring_of_all(const Shape& shape) {
  return {.place = shape.rank,
          .size = shape.size,
          .left = (shape.rank + shape.size - 1) % shape.size,
          .right = (shape.rank + 1) % shape.size};
}

// Sends the own chunk from where it is, then passes on what comes from the left: size - 1 steps.
void circulate(const Ring& ring, Range own, Script& script) {
  for (Rank step = 0; step < ring.size - 1; ++step) {
    script.send(ring.right, step == 0 ? own : script.output(ring.chunk_of(ring.place - step)));
    script.recv(ring.left, script.output(ring.chunk_of(ring.place - step - 1)));
  }
}

}  // namespace

// N - 1 steps; sends and receives (N - 1)/N · S. Chunk c starts at rank c + 1 and ends, complete, at rank c. Partial
// sums alternate between two cells, so that the next one can arrive while the last one leaves.
void ring_reduce_scatter(const Shape& shape, Script& script) {
  const Ring ring = ring_of_all(shape);
  if (ring.size == 1) return script.copy(script.input(0), script.output(0));
  Range partial = script.input(ring.place - 1);
  Range cells[2];
  if (ring.size > 2) cells[0] = script.scratch(partial);
  if (ring.size > 3) cells[1] = script.scratch(partial);
  for (Rank step = 0; step < ring.size - 1; ++step) {
    const Range mine = script.input(ring.place - step - 2);
    const bool last = step == ring.size - 2;
    const Range sum = last ? script.output(ring.place) : Script::at(cells[step % 2], mine);
    script.send(ring.right, partial);
    script.recv_reduce(ring.left, mine, sum);
    partial = sum;
  }
}

// N - 1 steps; sends and receives (N - 1)/N · S.
void ring_allgather(const Shape& shape, Script& script) {
  circulate(ring_of_all(shape), script.input(shape.rank), script);
  script.copy(script.input(shape.rank), script.output(shape.rank));
}

void ring_allreduce_among(const Ring& ring, Space own, Script& script) {
  for (Rank step = 0; step < ring.size - 1; ++step) {
    const std::uint32_t outgoing = ring.chunk_of(ring.place - step - 1);
    const std::uint32_t incoming = ring.chunk_of(ring.place - step - 2);
    script.send(ring.right, {step == 0 ? own : Space::output, 0, outgoing});
    script.recv_reduce(ring.left, {own, 0, incoming}, script.output(incoming));
  }
  circulate(ring, script.output(ring.chunk_of(ring.place)), script);
}

// 2(N - 1) steps; sends and receives 2(N - 1)/N · S, the least possible.
void ring_allreduce(const Shape& shape, Script& script) {
  if (shape.size == 1) return script.copy(script.input(0), script.output(0));
  ring_allreduce_among(ring_of_all(shape), Space::input, script);
}

}  // namespace hocket::algorithms
