// Tensors in memory that the other ranks of the host can map.
#pragma once

#include "bindings/torch/src/compat.hpp"

namespace hocket_torch {

// A tensor of zeros in registered memory. Throws std::runtime_error where there is none left.
at::Tensor registered_empty(at::IntArrayRef sizes, at::ScalarType type);

// A tensor for the time of a call, of the type and on the device of `like`, and of one dimension; its contents are
// undefined. Large ones in host memory lie in registered memory that is kept for later calls: pages that were touched
// before cost nothing.
at::Tensor scratch(std::int64_t elements, const at::Tensor& like);

// While it is on, large tensors that torch allocates on the CPU lie in registered memory.
void register_allocations(bool on);

}  // namespace hocket_torch
