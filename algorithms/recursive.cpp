// Recursive doubling: in round k, ranks that differ in bit k of their number exchange all they have. R. Thakur, R.
// Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH", International Journal of
// High Performance Computing Applications 19 (2005), section 4.5; there also the folding of ranks beyond a power of
// two.
#include <bit>

#include "algorithms/algorithms.hpp"

namespace hocket::algorithms {

// With P the largest power of two up to N: log2(P) rounds, and two more where P < N; the busiest rank sends
// log2(P) · S, and S more where P < N. Lower ranks stand left of ∘, so all ranks build the same expression.
//
// The first 2(N - P) ranks form pairs: the even one hands its input to the odd one and later gets the result back.
// What a round receives never goes where the same round still sends from: two cells alternate, and only the last round
// writes the output, which may be the input's memory. With one round alone (N = 2) it must be received beside it.
void recursive_doubling_allreduce(const Shape& shape, Script& script) {
  const Rank size = shape.size;
  const Range input = script.input(0), output = script.output(0);
  if (size == 1) return script.copy(input, output);

  const Rank doubling = static_cast<Rank>(std::bit_floor(static_cast<std::uint32_t>(size)));
  const Rank folded = 2 * (size - doubling);  // ranks in pairs
  if (shape.rank < folded && shape.rank % 2 == 0) {
    script.send(shape.rank + 1, input);
    script.recv(shape.rank + 1, output);
    return;
  }

  const Range cells[2] = {script.scratch(input), script.scratch(input)};
  Range have = input;
  if (shape.rank < folded) {
    script.recv_reduce_swapped(shape.rank - 1, input, cells[1]);
    have = cells[1];
  }
  const Rank mine = shape.rank < folded ? shape.rank / 2 : shape.rank - folded / 2;  // among those that double
  for (Rank bit = 1, round = 0; bit < doubling; bit *= 2, ++round) {
    const Rank other = mine ^ bit;
    const Rank peer = other < folded / 2 ? 2 * other + 1 : other + folded / 2;
    const bool last = 2 * bit == doubling;
    const Range next = last ? output : cells[round % 2];
    script.send(peer, have);
    if (last && have.space == Space::input) {
      script.recv(peer, cells[0]);
      other < mine ? script.reduce(cells[0], have, next) : script.reduce(have, cells[0], next);
    } else {
      other < mine ? script.recv_reduce_swapped(peer, have, next) : script.recv_reduce(peer, have, next);
    }
    have = next;
  }
  if (shape.rank < folded) script.send(shape.rank - 1, output);
}

}  // namespace hocket::algorithms
