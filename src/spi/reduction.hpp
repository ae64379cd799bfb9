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

// A ReduceKernel that is not the library's own.
struct CustomKernel {
  virtual void reduce(std::byte* to, const std::byte* left, const std::byte* right, std::size_t count) = 0;

 protected:
  ~CustomKernel() = default;
};

struct Reduction {
  ReduceKernel kernel = nullptr;
  ReduceAllKernel all = nullptr;   // null: the kernel, one source after the other, does as well
  DivideKernel divide = nullptr;   // what is left to do once all is combined; null: nothing
  std::uint32_t divisor = 1;       // for it
  CustomKernel* custom = nullptr;  // in place of the kernel
  std::size_t element_bytes = 1;
  bool swapped = false;  // false: mine ∘ incoming; true: incoming ∘ mine

  bool combines() const { return kernel != nullptr || custom != nullptr; }
  // to = mine ∘ incoming, or the other way round; `to` may be either.
  void combine(std::byte* to, const std::byte* mine, const std::byte* incoming, std::size_t count) const {
    const std::byte* left = swapped ? incoming : mine;
    const std::byte* right = swapped ? mine : incoming;
    custom == nullptr ? kernel(to, left, right, count) : custom->reduce(to, left, right, count);
  }
};

}  // namespace hocket
