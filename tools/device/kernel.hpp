// What a kernel of a program is written with. It is a function of one thread's share of the work, which is compiled for
// the device by nvcc, in C++17, and for the host, so that it can be tested without a device:
//
//   HOCKET_BOTH void fill_share(const FillArguments& call, uint64_t thread, uint64_t threads);
//
// The arguments are a plain struct that begins with the addresses of device memory, `pointers` of them.
#pragma once

#include "src/cuda/kernels/elements.hpp"

// In the file that nvcc compiles: the kernel `name` of the image.
#define HOCKET_DEVICE_KERNEL(name, Arguments, share)                                                \
  extern "C" __global__ void __launch_bounds__(256) name(const __grid_constant__ Arguments call) {  \
    share(call, uint64_t{blockIdx.x} * blockDim.x + threadIdx.x, uint64_t{gridDim.x} * blockDim.x); \
  }

namespace hocket::device {

// Adds to a number that all threads share.
HOCKET_BOTH void add_to(uint64_t* number, uint64_t value) {
#ifdef __CUDA_ARCH__
  atomicAdd(reinterpret_cast<unsigned long long*>(number), static_cast<unsigned long long>(value));
#else
  __atomic_fetch_add(number, value, __ATOMIC_RELAXED);
#endif
}

}  // namespace hocket::device
