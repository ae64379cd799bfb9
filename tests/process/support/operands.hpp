// What the plain references of all kinds of calls share: where values come from, and the reduction of all ranks'
// operands in rank order.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "src/base/elements.hpp"
#include "src/spi/types.hpp"

namespace hocket::process_testing {

// Spreads bits (the finalizer of SplitMix64).
inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

// What a rank multiplies its input with in premultiplied sums.
template <class T>
T scalar_of(Rank rank) {
  return elements::whole<T>(rank % 2 == 0 ? -1 : 1);
}

// The same in memory, for the options of a call.
struct Scalar {
  std::uint64_t bytes[2] = {};  // one element of any type

  Scalar(DataType dtype, Rank rank) {
    elements::visit(dtype, [&]<class T>(T) {
      const T value = scalar_of<T>(rank);
      std::memcpy(bytes, &value, sizeof value);
    });
  }
};

// input_of(rank) ∘ … of ranks 0 to size - 1; `stand_in` takes the place of the caller's own reduction.
template <class T, class InputOf>
T reduced(ReduceOp op, ReduceOp stand_in, Rank size, InputOf input_of) {
  const auto operand = [&](Rank rank) {
    const T input = input_of(rank);
    return op == ReduceOp::premultiplied_sum ? elements::reduce(ReduceOp::prod, input, scalar_of<T>(rank)) : input;
  };
  const ReduceOp combine = op == ReduceOp::user ? stand_in : op;
  T sum = operand(0);
  for (Rank rank = 1; rank < size; ++rank) sum = elements::reduce(combine, sum, operand(rank));
  if constexpr (!elements::Located<T> && !std::is_same_v<T, elements::Bool>) {
    if (op == ReduceOp::avg && size > 1) return elements::divide(sum, static_cast<std::uint32_t>(size));
  }
  return sum;
}

}  // namespace hocket::process_testing
