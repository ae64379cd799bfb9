// A call of a direct operation, and what its members bring and get.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "src/spi/types.hpp"

namespace hocket::testing_support {

// What all members call.
struct Shape {
  Collective collective;
  std::size_t count;
  std::uint32_t root;
  std::uint32_t number;  // of the call
  ReduceOp op;

  std::size_t input_blocks(std::uint32_t member, std::uint32_t members) const {
    switch (collective) {
      case Collective::barrier: return 0;
      case Collective::broadcast: return member == root ? 1 : 0;
      case Collective::scatter: return member == root ? members : 0;
      case Collective::reduce_scatter:
      case Collective::alltoall: return members;
      default: return 1;
    }
  }
  std::size_t output_blocks(std::uint32_t member, std::uint32_t members) const {
    switch (collective) {
      case Collective::barrier: return 0;
      case Collective::reduce: return member == root ? 1 : 0;
      case Collective::gather: return member == root ? members : 0;
      case Collective::exscan: return member == 0 ? 0 : 1;
      case Collective::allgather:
      case Collective::alltoall: return members;
      default: return 1;
    }
  }
};

// Element `i` of a member's input: a float whose sums depend on their order.
inline float input_at(const Shape& shape, std::uint32_t member, std::size_t i) {
  std::uint32_t bits = (shape.number * 31 + member) * 2654435761U + static_cast<std::uint32_t>(i) * 40503U;
  bits = (bits ^ (bits >> 15)) * 2246822519U;
  return std::ldexp(1 + static_cast<float>(bits >> 9) * 0x1p-23F, static_cast<int>(bits % 16) - 8);
}

inline float combine(ReduceOp op, float left, float right) {
  switch (op) {
    case ReduceOp::sum: return left + right;
    case ReduceOp::prod: return left * right;
    case ReduceOp::min: return std::min(left, right);
    default: return std::max(left, right);
  }
  return 0;
}

// In rank order.
inline float output_at(const Shape& shape, std::uint32_t member, std::uint32_t members, std::size_t i) {
  const auto block = static_cast<std::uint32_t>(i / shape.count);
  const std::size_t within = i % shape.count, mine = member * shape.count;
  const auto reduced = [&shape](std::size_t at, std::uint32_t operands) {
    float sum = input_at(shape, 0, at);
    for (std::uint32_t from = 1; from < operands; ++from) sum = combine(shape.op, sum, input_at(shape, from, at));
    return sum;
  };
  switch (shape.collective) {
    case Collective::allreduce:
    case Collective::reduce: return reduced(i, members);
    case Collective::reduce_scatter: return reduced(mine + i, members);
    case Collective::scan: return reduced(i, member + 1);
    case Collective::exscan: return reduced(i, member);
    case Collective::broadcast: return input_at(shape, shape.root, i);
    case Collective::scatter: return input_at(shape, shape.root, mine + i);
    case Collective::alltoall: return input_at(shape, block, mine + within);
    default: return input_at(shape, block, within);
  }
}

}  // namespace hocket::testing_support
