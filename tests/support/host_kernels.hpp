// The kernels of src/cuda/kernels as functions of the host.
#pragma once

#include "src/cuda/kernels/reduce.hpp"
#include "src/spi/elements.hpp"

namespace hocket::testing_support {

using HostKernel = void (*)(const cuda::ReduceArguments& call, std::uint64_t thread, std::uint64_t threads);

// Null where there is none.
HostKernel host_kernel(DataType dtype, ReduceOp op);

}  // namespace hocket::testing_support
