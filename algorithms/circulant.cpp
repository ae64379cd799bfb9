// Circulant graphs: in every round each rank sends to the one some skip away and receives from the one as far on the
// other side, so ceil(log2 N) rounds do for any N. The chunks of rank r are counted from r on: block i is chunk r + i.
//
// J. L. Träff, "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms", arXiv:2410.14234 (2024), algorithms 1
// (reduce-scatter) and 2 (allreduce), with skips made by halving N and rounding up. J. Bruck, C.-T. Ho, S. Kipnis, E.
// Upfal and D. Weathersby, "Efficient algorithms for all-to-all communications in multiport message-passing systems",
// IEEE Transactions on Parallel and Distributed Systems 8 (1997), section 4 (allgather with skips 1, 2, 4 …; the blocks
// go straight to their places here, so nothing is rotated in the end).
#include <vector>

#include "algorithms/blocks.hpp"
#include "src/spi/schedule.hpp"

namespace hocket::algorithms {
namespace {

// N, then half of the one before, rounded up, down to 1. Each round of Träff's algorithms goes from one to the next.
std::vector<Rank> halvings(Rank size) {
  std::vector<Rank> left{size};
  while (left.back() > 1) left.push_back(left.back() - left.back() / 2);
  return left;
}

// The blocks of one round, which are two messages where they pass the last chunk. Neither leaves before all are there:
// it would be of no use to the other side, whose next round needs both, and hold up what still belongs to earlier
// rounds.
void send_together(Rank to, const std::vector<Range>& runs, ScheduleBuilder& builder) {
  if (runs.size() == 1) return builder.send(to, runs[0]);
  builder.send(to, runs[0], runs[1]);
  builder.send(to, runs[1], runs[0]);
}

// Sums the blocks of all ranks: each round hands the farther half of what a rank still sums to the rank that is nearer,
// until block 0 is left, complete, in the output. Partial sums of block i lie where held(i, chunk, count) says.
template <class Held>
void sum_blocks(const Shape& shape, Held held, ScheduleBuilder& builder) {
  const Blocks blocks{shape.rank, shape.size};
  const std::vector<Rank> left = halvings(shape.size);
  for (std::size_t round = 1; round < left.size(); ++round) {
    const Rank before = left[round - 1], skip = left[round];
    const Rank to = (shape.rank + skip) % shape.size, from = (shape.rank - skip + shape.size) % shape.size;
    const auto partial = [&](Rank block, std::uint32_t chunk, std::uint32_t count) {
      return round == 1 ? builder.input(chunk, count) : held(block, chunk, count);
    };
    std::vector<Range> runs;
    blocks.for_each_run(skip, before, [&](Rank block, std::uint32_t chunk, std::uint32_t count) {
      runs.push_back(partial(block, chunk, count));
    });
    send_together(to, runs, builder);
    blocks.for_each_run(0, before - skip, [&](Rank block, std::uint32_t chunk, std::uint32_t count) {
      const Range sum = skip == 1 ? builder.output(shape.rank) : held(block, chunk, count);
      builder.recv_reduce(from, partial(block, chunk, count), sum);
    });
    if (round == 1 && before % 2 == 1) {  // the block in the middle is not summed yet, but has its place among the rest
      const std::uint32_t middle = blocks.chunk(skip - 1);
      builder.copy(builder.input(middle), held(skip - 1, middle, 1));
    }
  }
}

// One round of an allgather: `count` blocks from the one that is `skip` further on, for as many to the one before.
void pass_blocks(const Shape& shape, Rank skip, Rank count, ScheduleBuilder& builder) {
  const Blocks blocks{shape.rank, shape.size};
  const Rank to = (shape.rank - skip + shape.size) % shape.size, from = (shape.rank + skip) % shape.size;
  std::vector<Range> runs;
  blocks.for_each_run(0, count, [&](Rank, std::uint32_t chunk, std::uint32_t chunks) {
    runs.push_back(builder.output(chunk, chunks));
  });
  send_together(to, runs, builder);
  blocks.for_each_run(skip, skip + count, [&](Rank, std::uint32_t chunk, std::uint32_t chunks) {
    builder.recv(from, builder.output(chunk, chunks));
  });
}

// From every rank's own chunk in the output to all of them.
void collect_blocks(const Shape& shape, ScheduleBuilder& builder) {
  const std::vector<Rank> left = halvings(shape.size);
  for (std::size_t round = left.size() - 1; round > 0; --round) {
    pass_blocks(shape, left[round], left[round - 1] - left[round], builder);
  }
}

}  // namespace

// ceil(log2 N) rounds of 1 or 2 messages; sends and receives (N - 1)/N · S. Scratch for half of the chunks.
void circulant_reduce_scatter(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.size == 1) return builder.copy(builder.input(0), builder.output(0));
  const Rank half = shape.size - shape.size / 2;
  Range cells;
  if (half > 1) cells = builder.scratch(builder.input(0, static_cast<std::uint32_t>(half)));
  const auto held = [&](Rank block, std::uint32_t chunk, std::uint32_t count) {
    return Range{Space::scratch, static_cast<std::uint16_t>(cells.cell + block), chunk, count};
  };
  sum_blocks(shape, held, builder);
}

// ceil(log2 N) rounds of 1 or 2 messages; sends and receives (N - 1)/N · S.
void circulant_allgather(const Shape& shape, ScheduleBuilder& builder) {
  builder.copy(builder.input(shape.rank), builder.output(shape.rank));
  collect_blocks(shape, builder);
}

// Reduce-scatter, then allgather: 2 ceil(log2 N) rounds of 1 or 2 messages; sends and receives 2(N - 1)/N · S. Partial
// sums live in the output.
void circulant_allreduce(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.size == 1) return builder.copy(builder.input(0), builder.output(0));
  const auto held = [&](Rank, std::uint32_t chunk, std::uint32_t count) { return builder.output(chunk, count); };
  sum_blocks(shape, held, builder);
  collect_blocks(shape, builder);
}

// ceil(log2 N) rounds of 1 or 2 messages; sends and receives (N - 1)/N · S.
void bruck_allgather(const Shape& shape, ScheduleBuilder& builder) {
  builder.copy(builder.input(shape.rank), builder.output(shape.rank));
  for (Rank skip = 1; skip < shape.size; skip *= 2) {
    pass_blocks(shape, skip, std::min(skip, shape.size - skip), builder);
  }
}

}  // namespace hocket::algorithms
