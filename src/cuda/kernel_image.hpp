// The compiled kernels (kernels/kernels.cu), which cmake/cuda.cmake puts into the library as they are.
#pragma once

#include <string>

#include "src/spi/elements.hpp"

extern "C" const unsigned char hocket_cuda_kernels[];

namespace hocket::cuda {

inline std::string kernel_name(DataType dtype, ReduceOp op) {
  return "hocket_reduce_" + std::string(name_of(dtype)) + "_" + std::string(name_of(op));
}

}  // namespace hocket::cuda
