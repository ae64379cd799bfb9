// Recursive doubling and halving: in each round, ranks that differ in one bit of their number exchange all they have
// (doubling), or each hands the other the half that the other is to sum (halving). R. Thakur, R. Rabenseifner and W.
// Gropp, "Optimization of collective communication operations in MPICH", International Journal of High Performance
// Computing Applications 19 (2005), sections 4.1 (allgather), 4.4 (reduce-scatter) and 4.5 (allreduce; there also
// Rabenseifner's algorithm and the folding of ranks beyond a power of two).
#include <bit>
#include <vector>

#include "src/spi/schedule.hpp"

namespace hocket::algorithms {
namespace {

// With P the largest power of two up to N, the first 2(N - P) ranks form pairs: the even one hands its data to the odd
// one and later gets the result back. The odd ones and all ranks beyond the pairs have numbers from 0 to P - 1.
struct Fold {
  explicit Fold(const Shape& shape)
      : rank(shape.rank),
        doubling(static_cast<Rank>(std::bit_floor(static_cast<std::uint32_t>(shape.size)))),
        in_pairs(2 * (shape.size - doubling)),
        number(rank < in_pairs ? rank / 2 : rank - in_pairs / 2) {}

  bool is_paired() const { return rank < in_pairs; }
  bool hands_over() const { return is_paired() && rank % 2 == 0; }
  Rank rank_of(Rank other) const { return other < in_pairs / 2 ? 2 * other + 1 : other + in_pairs / 2; }
  // The first chunk of the ranks that a number stands for; N for P.
  Rank first_chunk_of(Rank other) const { return other < in_pairs / 2 ? 2 * other : other + in_pairs / 2; }

  Rank rank;
  Rank doubling;  // P
  Rank in_pairs;  // ranks
  Rank number;    // of the pair's odd rank also on the even one
};

// Which chunks belong to which numbers: number v has those from first[v] to first[v + 1].
using Bounds = std::vector<std::uint32_t>;

Range between(const Bounds& first, Range whole, Rank low, Rank high) {
  return ScheduleBuilder::part(whole, first[low], first[high] - first[low]);
}

// log2(P) rounds that sum `have`, all chunks, until every number holds the sum of its own. held(range) says where the
// sum of some chunks is to lie. Returns where the sum of the own ones lies.
template <class Held>
Range halve(const Fold& fold, const Bounds& first, Range have, Held held, ScheduleBuilder& builder) {
  Rank low = 0, high = fold.doubling;  // the numbers whose chunks this rank still sums
  while (high - low > 1) {
    const Rank middle = (low + high) / 2;
    const bool in_lower = fold.number < middle;
    const Rank peer = fold.rank_of(in_lower ? fold.number + (middle - low) : fold.number - (middle - low));
    builder.send(peer, in_lower ? between(first, have, middle, high) : between(first, have, low, middle));
    (in_lower ? high : low) = middle;
    const Range mine = between(first, have, low, high);
    const Range sum = held(mine);
    in_lower ? builder.recv_reduce(peer, mine, sum) : builder.recv_reduce_swapped(peer, mine, sum);
    have = sum;
  }
  return have;
}

// log2(P) rounds after which the output holds what every number had in its chunks of it.
void double_up(const Fold& fold, const Bounds& first, ScheduleBuilder& builder) {
  const Range all = builder.output(0, builder.shape().chunks);
  for (Rank bit = 1; bit < fold.doubling; bit *= 2) {
    const Rank mine = fold.number & ~(bit - 1), theirs = mine ^ bit;
    const Rank peer = fold.rank_of(fold.number ^ bit);
    builder.send(peer, between(first, all, mine, mine + bit));
    builder.recv(peer, between(first, all, theirs, theirs + bit));
  }
}

// Every number has the chunks of the ranks that it stands for.
Bounds by_rank(const Fold& fold) {
  Bounds first;
  for (Rank number = 0; number <= fold.doubling; ++number) {
    first.push_back(static_cast<std::uint32_t>(fold.first_chunk_of(number)));
  }
  return first;
}

// Every number has about as many chunks.
Bounds evenly(const Fold& fold, std::uint32_t chunks) {
  Bounds first;
  const auto parts = static_cast<std::uint64_t>(fold.doubling);
  for (std::uint64_t number = 0; number <= parts; ++number) {
    first.push_back(static_cast<std::uint32_t>(number * chunks / parts));
  }
  return first;
}

}  // namespace

// log2(P) rounds, and two more where P < N; the busiest rank sends log2(P) · S, and S more where P < N. Lower ranks
// stand left of ∘, so all ranks build the same expression.
//
// What a round receives never goes where the same round still sends from: two cells alternate, and only the last round
// writes the output, which may be the input's memory. With one round alone (N = 2) it must be received beside it.
void recursive_doubling_allreduce(const Shape& shape, ScheduleBuilder& builder) {
  const Range input = builder.input(0), output = builder.output(0);
  if (shape.size == 1) return builder.copy(input, output);
  const Fold fold(shape);
  if (fold.hands_over()) {
    builder.send(shape.rank + 1, input);
    builder.recv(shape.rank + 1, output);
    return;
  }

  const Range cells[2] = {builder.scratch(input), builder.scratch(input)};
  Range have = input;
  if (fold.is_paired()) {
    builder.recv_reduce_swapped(shape.rank - 1, input, cells[1]);
    have = cells[1];
  }
  for (Rank bit = 1, round = 0; bit < fold.doubling; bit *= 2, ++round) {
    const Rank other = fold.number ^ bit;
    const Rank peer = fold.rank_of(other);
    const bool last = 2 * bit == fold.doubling;
    const Range next = last ? output : cells[round % 2];
    builder.send(peer, have);
    if (last && have.space == Space::input) {
      builder.recv(peer, cells[0]);
      other < fold.number ? builder.reduce(cells[0], have, next) : builder.reduce(have, cells[0], next);
    } else {
      other < fold.number ? builder.recv_reduce_swapped(peer, have, next) : builder.recv_reduce(peer, have, next);
    }
    have = next;
  }
  if (fold.is_paired()) builder.send(shape.rank - 1, output);
}

// Rabenseifner's algorithm, halving and then doubling: 2 log2(P) rounds of one message, sends and receives
// 2(P - 1)/P · S; where P < N two rounds more, and ranks in pairs send or receive 2S more. Where P < N the numbers have
// one chunk or two, so the busiest one sends up to 2S. Partial sums live in the output.
void rabenseifner_allreduce(const Shape& shape, ScheduleBuilder& builder) {
  const Range input = builder.input(0, shape.chunks), output = builder.output(0, shape.chunks);
  if (shape.size == 1) return builder.copy(input, output);
  const Fold fold(shape);
  if (fold.hands_over()) {
    builder.send(shape.rank + 1, input);
    builder.recv(shape.rank + 1, output);
    return;
  }
  if (fold.is_paired()) builder.recv_reduce_swapped(shape.rank - 1, input, output);
  const Bounds first = evenly(fold, shape.chunks);
  const auto held = [&](Range mine) { return builder.output(mine.chunk, mine.count); };
  halve(fold, first, fold.is_paired() ? output : input, held, builder);
  double_up(fold, first, builder);
  if (fold.is_paired()) builder.send(shape.rank - 1, output);
}

// log2(P) rounds of one message, sends and receives (P - 1)/P · S; where P < N two rounds more, the even ranks of the
// pairs send S more, and the busiest of the others up to S. Scratch for half of the chunks, on odd ranks of pairs
// for all.
void recursive_halving_reduce_scatter(const Shape& shape, ScheduleBuilder& builder) {
  const Range input = builder.input(0, shape.chunks), own = builder.output(shape.rank);
  if (shape.size == 1) return builder.copy(input, own);
  const Fold fold(shape);
  if (fold.hands_over()) {
    builder.send(shape.rank + 1, input);
    builder.recv(shape.rank + 1, own);
    return;
  }
  Range cells, have = input;  // cells: none yet
  const auto held = [&](Range mine) {
    if (mine.count == 1) return own;
    if (cells.space != Space::scratch) cells = builder.scratch(mine);
    return ScheduleBuilder::part(cells, mine.chunk, mine.count);
  };
  if (fold.is_paired()) {
    have = held(input);
    builder.recv_reduce_swapped(shape.rank - 1, input, have);
  }
  const Range sum = halve(fold, by_rank(fold), have, held, builder);
  if (!fold.is_paired()) return;
  builder.send(shape.rank - 1, ScheduleBuilder::part(sum, own.chunk - 1, 1));
  builder.copy(ScheduleBuilder::part(sum, own.chunk, 1), own);
}

// log2(P) rounds of one message, sends and receives (P - 1)/P · S; where P < N two rounds more, in which odd ranks of
// pairs send S more. Everything goes straight to its place.
void recursive_doubling_allgather(const Shape& shape, ScheduleBuilder& builder) {
  const Fold fold(shape);
  const Range own = builder.input(shape.rank);
  if (fold.hands_over()) {
    builder.send(shape.rank + 1, own);
    builder.recv(shape.rank + 1, builder.output(0, shape.chunks));
    return;
  }
  builder.copy(own, builder.output(shape.rank));
  if (fold.is_paired()) builder.recv(shape.rank - 1, builder.output(shape.rank - 1));
  double_up(fold, by_rank(fold), builder);
  if (fold.is_paired()) builder.send(shape.rank - 1, builder.output(0, shape.chunks));
}

}  // namespace hocket::algorithms
