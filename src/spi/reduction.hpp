// How elements are combined: what kernels look like, and the one that a call uses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/spi/elements.hpp"

namespace hocket {

// to[i] = left[i] ∘ right[i] for `count` elements; `to` may be left or right; no alignment is required.
using ReduceKernel = void (*)(std::byte* to, const std::byte* left, const std::byte* right, std::size_t count);

// to = sources[0] ∘ sources[1] ∘ …, `number` of them, each from `offset` bytes on, then divided; otherwise as a
// ReduceKernel. For types that lose less when they are rounded once.
using ReduceAllKernel = void (*)(std::byte* to, const std::byte* const* sources, std::size_t number, std::size_t offset,
                                 std::size_t count, std::uint32_t divisor);

// data[i] = data[i] / divisor for `count` elements; no alignment is required.
using DivideKernel = void (*)(std::byte* data, std::size_t count, std::uint32_t divisor);

// The same where one operand or the result lies in float32, for types that are narrower: ReduceKernels but for the
// elements of `left` and `to`. The bits are as if all were widened first.
struct WideKernels {
  ReduceKernel begin;  // wide = narrow ∘ narrow
  ReduceKernel add;    // wide = wide ∘ narrow
  ReduceKernel end;    // narrow = wide ∘ narrow, rounded
};
inline constexpr std::size_t wide_element_bytes = sizeof(float);

// A ReduceKernel that is not the library's own.
struct CustomKernel {
  virtual void reduce(std::byte* to, const std::byte* left, const std::byte* right, std::size_t count) = 0;

 protected:
  ~CustomKernel() = default;
};

struct Reduction {
  ReduceKernel kernel = nullptr;
  ReduceAllKernel all = nullptr;              // null: the kernel, one source after the other, does as well
  DivideKernel divide = nullptr;              // what is left to do once all is combined; null: nothing
  std::uint32_t divisor = 1;                  // for it
  const WideKernels* wide = nullptr;          // for sums in wide cells; null: there are none
  CustomKernel* custom = nullptr;             // in place of the kernel
  std::size_t element_bytes = 1;              // of what comes in
  bool swapped = false;                       // false: mine ∘ incoming; true: incoming ∘ mine
  std::uint8_t mine_width = 1, to_width = 1;  // of the elements of `mine` and `to`, compared with what comes in

  bool combines() const { return kernel != nullptr || custom != nullptr; }
  // to = mine ∘ incoming, or the other way round; `to` may be either.
  void combine(std::byte* to, const std::byte* mine, const std::byte* incoming, std::size_t count) const {
    const std::byte* left = swapped ? incoming : mine;
    const std::byte* right = swapped ? mine : incoming;
    custom == nullptr ? kernel(to, left, right, count) : custom->reduce(to, left, right, count);
  }
  // The same for a part: `bytes` that belong `offset` bytes behind the start of what comes in.
  void combine_part(std::byte* to, const std::byte* mine, std::size_t offset, const std::byte* incoming,
                    std::size_t bytes) const {
    combine(to + offset * to_width, mine + offset * mine_width, incoming, bytes / element_bytes);
  }

  // Every operation rounds.
  void round_each() {
    all = nullptr;
    wide = nullptr;
  }
  // The same where `mine`, or the result, lies in wide cells. Requires `wide`, if one of them does. The operands' order
  // does not matter to the library's own.
  Reduction between(bool mine_is_wide, bool to_is_wide) const {
    Reduction made = *this;
    if (!mine_is_wide && !to_is_wide) return made;
    const auto width = static_cast<std::uint8_t>(wide_element_bytes / element_bytes);
    made.kernel = !mine_is_wide ? wide->begin : to_is_wide ? wide->add : wide->end;
    made.swapped = false;
    if (mine_is_wide) made.mine_width = width;
    if (to_is_wide) made.to_width = width;
    return made;
  }
};

}  // namespace hocket
