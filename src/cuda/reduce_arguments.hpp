// A reduction of the seam as its kernel takes it.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "src/cuda/kernels/reduce.hpp"
#include "src/spi/gpu.hpp"

namespace hocket::cuda {

static_assert(max_buffers == gpu_reduction_buffers_max);
inline constexpr std::size_t vector_bytes = 16;

// Code::invalid_argument where there is no kernel for it, or too many buffers.
inline Result<ReduceArguments> reduce_arguments(const GpuReduction& call) {
  if (!is_defined(call.dtype, call.op) || info_of(call.op).combines_as != call.op ||
      info_of(call.op).takes != Takes::nothing) {
    return Status(Code::invalid_argument,
                  fmt::format("there is no kernel for {} of {}", name_of(call.op), name_of(call.dtype)));
  }
  const auto fits = [](std::size_t buffers) { return buffers >= 1 && buffers <= max_buffers; };
  if (!fits(call.inputs.size()) || !fits(call.outputs.size())) {
    return Status(Code::invalid_argument, fmt::format("a reduction has 1 … {} inputs and outputs, not {} and {}",
                                                      max_buffers, call.inputs.size(), call.outputs.size()));
  }
  ReduceArguments arguments{};
  std::uintptr_t bits = 0;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    arguments.inputs[i] = call.inputs[i];
    bits |= reinterpret_cast<std::uintptr_t>(call.inputs[i]);
  }
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    arguments.outputs[i] = call.outputs[i];
    bits |= reinterpret_cast<std::uintptr_t>(call.outputs[i]);
  }
  arguments.count = call.count;
  arguments.input_count = static_cast<std::uint32_t>(call.inputs.size());
  arguments.output_count = static_cast<std::uint32_t>(call.outputs.size());
  arguments.divisor = call.divisor;
  arguments.round_each = call.round_each ? 1 : 0;
  arguments.aligned = bits % vector_bytes == 0 ? 1 : 0;
  return arguments;
}

}  // namespace hocket::cuda
