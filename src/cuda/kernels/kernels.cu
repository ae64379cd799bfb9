// The device's kernels, compiled by cmake/cuda.cmake into one image that the driver loads.
#include "src/cuda/kernels/list.hpp"

#define HOCKET_KERNEL(type, family, reduction)                                                            \
  extern "C" __global__ void __launch_bounds__(256)                                                       \
      hocket_reduce_##type##_##reduction(const __grid_constant__ hocket::cuda::ReduceArguments call) {    \
    hocket::cuda::reduce_share<hocket::cuda::families::family, hocket::cuda::Combine::reduction>(         \
        call, uint64_t{blockIdx.x} * blockDim.x + threadIdx.x, uint64_t{gridDim.x} * blockDim.x);         \
  }

HOCKET_CUDA_KERNELS(HOCKET_KERNEL)
