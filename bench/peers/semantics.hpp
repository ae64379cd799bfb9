// What the collectives mean: how large their buffers are, what the input is and what must come out.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "bench/peers/harness.hpp"

namespace peers {

inline constexpr std::size_t period = 4099;  // of the input values; divides no usual block

// Element i of a rank's input: small integers, whose sums float32 holds exactly in every order.
float value(int rank, std::size_t i);

// What a buffer of one rank holds.
enum class Blocks { none, one, one_for_each };
struct Side {
  Blocks blocks = Blocks::none;
  bool at_root_only = false;
};

// Whose input an element of the output comes from, where it holds no block for each rank.
enum class From { root, previous, all, all_up_to_own, all_before_own };

// All that the harnesses know of a collective.
struct CollectiveRow {
  Collective collective;
  std::string_view name;
  Side input, output;
  From from;
  int travels;          // how often the busiest link carries every block but one; 0: it carries the whole vector once
  bool varies = false;  // the blocks' size
};
// Null for a name that is none.
const CollectiveRow* find_row(std::string_view name);

struct Shape {
  std::size_t input = 0, output = 0;  // elements on this rank; 0: takes no part
};
Shape shape_of(Collective collective, std::size_t count, int rank, int size);

// Blocks: the larger buffer holds one block for each rank.
bool is_blocks(Collective collective);

// Elements of the blocks in the rank's larger buffer, by rank: `count` each, or, where blocks vary, 2n(r + 1)/(N + 1)
// rounded down for block r of N, with n for `count`. Alltoall_v: with (rank + r) mod N for r, so that what a rank
// sends to another is as much as it receives from there.
std::vector<std::size_t> block_counts(Collective collective, std::size_t count, int rank, int size);

// A part of the output: the sum of the inputs of the ranks from `from` to before `to`, each from element `first` on.
struct Segment {
  int from = 0, to = 0;
  std::size_t first = 0, count = 0;
};
// All of the rank's output, in order.
std::vector<Segment> expected_output(Collective collective, std::size_t count, int rank, int size);

// Times the algorithm's bandwidth: that of the busiest link, as NCCL's tests have it.
double bus_factor(Collective collective, int size);

}  // namespace peers
