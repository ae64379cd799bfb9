// What a probe measures of collectives over shared memory, and what the model makes of it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/plan/network.hpp"
#include "tools/plan/figure.hpp"

namespace hocket {

// Of two ranks, in seconds of one call.
struct DirectFigures {
  Figure small;     // an allreduce of small_bytes, both ranks on processors of their own
  Figure one_core;  // the same on one core; 0: not measured
  Figure ahead,
      behind;  // a broadcast of 8 bytes: at its root, which waits for nobody, and at a rank that finds it ready
  Figure gather, reduce;          // an allgather and an allreduce of near_bytes from each rank, one-shot
  Figure far_gather, far_reduce;  // of far_bytes from each, staged
  Figure read, long_read;         // allgathers of near_bytes and read_bytes from each, by single copy; 0: not possible
  double cache_bytes = 0;         // of a core's own cache; 0: not known

  static constexpr std::size_t small_bytes = 64;
  static constexpr std::size_t near_bytes = std::size_t{64} << 10;
  static constexpr std::size_t read_bytes = std::size_t{512} << 10;
  static constexpr std::size_t far_bytes = std::size_t{2} << 20;
};

// The costs with which the model expects what was measured, as far as none of them becomes negative: the forms of
// src/plan/direct/cost.hpp, solved for one cost after the other.
DirectCost direct_cost_of(const DirectFigures& figures);

// Each figure with what it is called.
std::vector<std::pair<std::string_view, Figure>> named(const DirectFigures& figures);

}  // namespace hocket
