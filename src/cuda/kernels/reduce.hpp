// The one kernel of reductions: reads all inputs once, combines them from left to right, and writes all outputs.
#pragma once

#include "src/cuda/kernels/elements.hpp"

namespace hocket::cuda {

inline constexpr unsigned max_buffers = 64;  // of inputs, and of outputs

// An output may be an input; other than that no two overlap. All are aligned to their elements' parts.
struct ReduceArguments {
  const void* inputs[max_buffers];
  void* outputs[max_buffers];
  uint64_t count;         // of elements
  uint32_t input_count;   // 1 … max_buffers
  uint32_t output_count;  // likewise
  uint32_t divisor;       // 1: nothing is divided
  uint32_t round_each;    // not 0: narrow floats are rounded with each operand, as in deterministic mode
  uint32_t aligned;       // not 0: all are aligned to 16 bytes
};

// What one thread loads at once.
template <class Stored>
struct alignas(16) Vector {
  static constexpr unsigned lanes = 16 / sizeof(Stored);
  Stored at[lanes];
};

template <class Elements, Combine op>
HOCKET_BOTH typename Elements::Wide combine_next(typename Elements::Wide so_far, typename Elements::Stored next,
                                                 uint32_t round_each) {
  const auto combined = Elements::template combine<op>(so_far, Elements::load(next));
  return round_each != 0 ? Elements::load(Elements::store(combined)) : combined;
}

template <class Elements>
HOCKET_BOTH typename Elements::Stored end_of(typename Elements::Wide combined, uint32_t divisor) {
  return Elements::store(divisor == 1 ? combined : Elements::divide(combined, divisor));
}

template <class Elements, Combine op>
HOCKET_BOTH void reduce_vector(const ReduceArguments& call, uint64_t position) {
  using V = Vector<typename Elements::Stored>;
  typename Elements::Wide combined[V::lanes];
  V block = static_cast<const V*>(call.inputs[0])[position];
  for (unsigned lane = 0; lane < V::lanes; ++lane) combined[lane] = Elements::load(block.at[lane]);
  for (unsigned i = 1; i < call.input_count; ++i) {
    block = static_cast<const V*>(call.inputs[i])[position];
    for (unsigned lane = 0; lane < V::lanes; ++lane) {
      combined[lane] = combine_next<Elements, op>(combined[lane], block.at[lane], call.round_each);
    }
  }
  for (unsigned lane = 0; lane < V::lanes; ++lane) block.at[lane] = end_of<Elements>(combined[lane], call.divisor);
  for (unsigned i = 0; i < call.output_count; ++i) static_cast<V*>(call.outputs[i])[position] = block;
}

template <class Elements, Combine op>
HOCKET_BOTH void reduce_element(const ReduceArguments& call, uint64_t position) {
  using Stored = typename Elements::Stored;
  auto combined = Elements::load(static_cast<const Stored*>(call.inputs[0])[position]);
  for (unsigned i = 1; i < call.input_count; ++i) {
    combined =
        combine_next<Elements, op>(combined, static_cast<const Stored*>(call.inputs[i])[position], call.round_each);
  }
  const Stored end = end_of<Elements>(combined, call.divisor);
  for (unsigned i = 0; i < call.output_count; ++i) static_cast<Stored*>(call.outputs[i])[position] = end;
}

// The share of thread `thread` of `threads`.
template <class Elements, Combine op>
HOCKET_BOTH void reduce_share(const ReduceArguments& call, uint64_t thread, uint64_t threads) {
  constexpr uint64_t lanes = Vector<typename Elements::Stored>::lanes;
  const uint64_t vectors = call.aligned != 0 ? call.count / lanes : 0;
  for (uint64_t i = thread; i < vectors; i += threads) reduce_vector<Elements, op>(call, i);
  for (uint64_t i = vectors * lanes + thread; i < call.count; i += threads) reduce_element<Elements, op>(call, i);
}

}  // namespace hocket::cuda
