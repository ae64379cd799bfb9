// Ring algorithms: every rank sends to its right neighbour and receives from its left one, and every link carries the
// same load. P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", Journal
// of Parallel and Distributed Computing 69 (2009).
#include "algorithms/algorithms.hpp"

namespace hocket::algorithms {
namespace {

struct Ring {
  explicit Ring(const Shape& shape)
      : rank(shape.rank),
        size(shape.size),
        left((shape.rank + shape.size - 1) % shape.size),
        right((shape.rank + 1) % shape.size) {}

  Rank rank, size, left, right;
};

// Sends the chunk `rank` from where it is, then passes on what comes from the left: N - 1 steps.
void circulate(const Ring& ring, Range own, Script& script) {
  for (Rank step = 0; step < ring.size - 1; ++step) {
    script.send(ring.right, step == 0 ? own : script.output(ring.rank - step));
    script.recv(ring.left, script.output(ring.rank - step - 1));
  }
}

}  // namespace

// N - 1 steps; sends and receives (N - 1)/N · S. Chunk c starts at rank c + 1 and ends, complete, at rank c. Partial
// sums alternate between two cells, so that the next one can arrive while the last one leaves.
void ring_reduce_scatter(const Shape& shape, Script& script) {
  const Ring ring(shape);
  if (ring.size == 1) return script.copy(script.input(0), script.output(0));
  Range partial = script.input(ring.rank - 1);
  Range cells[2];
  if (ring.size > 2) cells[0] = script.scratch(partial);
  if (ring.size > 3) cells[1] = script.scratch(partial);
  for (Rank step = 0; step < ring.size - 1; ++step) {
    const Range mine = script.input(ring.rank - step - 2);
    const bool last = step == ring.size - 2;
    const Range sum = last ? script.output(ring.rank) : Script::at(cells[step % 2], mine);
    script.send(ring.right, partial);
    script.recv_reduce(ring.left, mine, sum);
    partial = sum;
  }
}

// N - 1 steps; sends and receives (N - 1)/N · S.
void ring_allgather(const Shape& shape, Script& script) {
  const Ring ring(shape);
  circulate(ring, script.input(ring.rank), script);
  script.copy(script.input(ring.rank), script.output(ring.rank));
}

// Reduce-scatter, then allgather: 2(N - 1) steps; sends and receives 2(N - 1)/N · S, the least possible. Partial sums
// live in the output, whose chunk `c` is final only when the allgather brings it.
void ring_allreduce(const Shape& shape, Script& script) {
  const Ring ring(shape);
  if (ring.size == 1) return script.copy(script.input(0), script.output(0));
  for (Rank step = 0; step < ring.size - 1; ++step) {
    const Rank outgoing = ring.rank - step - 1;
    script.send(ring.right, step == 0 ? script.input(outgoing) : script.output(outgoing));
    script.recv_reduce(ring.left, script.input(outgoing - 1), script.output(outgoing - 1));
  }
  circulate(ring, script.output(ring.rank), script);
}

}  // namespace hocket::algorithms
