// What the collectives mean: how large their buffers are, what the input is and what must come out.
#pragma once

#include <cstddef>
#include <string_view>

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

// All that the harnesses know of a collective.
struct CollectiveRow {
  Collective collective;
  std::string_view name;
  Side input, output;
  bool sums;
  int travels;  // how often the busiest link carries every block but one; 0: it carries the whole vector once
};
// Null for a name that is none.
const CollectiveRow* find_row(std::string_view name);

struct Shape {
  std::size_t input = 0, output = 0;  // elements on this rank; 0: takes no part
};
Shape shape_of(Collective collective, std::size_t count, int rank, int size);

// Blocks: the larger buffer holds one block of `count` elements for each rank.
bool is_blocks(Collective collective);

// Element i of the rank's output.
float expected(Collective collective, std::size_t count, int rank, int size, std::size_t i);

// Times the algorithm's bandwidth: that of the busiest link, as NCCL's tests have it.
double bus_factor(Collective collective, int size);

}  // namespace peers
