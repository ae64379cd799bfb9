// All kernels of reductions: KERNEL(type, family, reduction) for each, with the names that types and reductions have
// everywhere. The device's are made from this list, and the host's, with which they are tested.
#pragma once

#include "src/cuda/kernels/reduce.hpp"

namespace hocket::cuda::families {

using float32 = Floating<float>;
using float64 = Floating<double>;
using int8 = Integer<int8_t, uint8_t>;
using int16 = Integer<int16_t, uint16_t>;
using int32 = Integer<int32_t, uint32_t>;
using int64 = Integer<int64_t, uint64_t>;
using uint8 = Integer<uint8_t, uint8_t>;
using uint16 = Integer<uint16_t, uint16_t>;
using uint32 = Integer<uint32_t, uint32_t>;
using uint64 = Integer<uint64_t, uint64_t>;
using float16 = NarrowFloat<uint16_t, 5, 10, true>;
using bfloat16 = NarrowFloat<uint16_t, 8, 7, true>;
using float8_e4m3 = NarrowFloat<uint8_t, 4, 3, false>;
using float8_e5m2 = NarrowFloat<uint8_t, 5, 2, true>;
using boolean = Bool;
using complex64 = Complex<float>;
using complex128 = Complex<double>;
using float32_int32 = Located<hocket_float32_int32>;
using float64_int64 = Located<hocket_float64_int64>;
using int32_int32 = Located<hocket_int32_int32>;
using int64_int64 = Located<hocket_int64_int64>;

}  // namespace hocket::cuda::families

#define HOCKET_FLOAT_KERNELS(KERNEL, type) \
  KERNEL(type, type, sum)                  \
  KERNEL(type, type, prod)                 \
  KERNEL(type, type, min)                  \
  KERNEL(type, type, max)

#define HOCKET_WHOLE_KERNELS(KERNEL, type, family) \
  KERNEL(type, family, sum)                        \
  KERNEL(type, family, prod)                       \
  KERNEL(type, family, min)                        \
  KERNEL(type, family, max)                        \
  KERNEL(type, family, band)                       \
  KERNEL(type, family, bor)                        \
  KERNEL(type, family, bxor)                       \
  KERNEL(type, family, land)                       \
  KERNEL(type, family, lor)

#define HOCKET_COMPLEX_KERNELS(KERNEL, type) \
  KERNEL(type, type, sum)                    \
  KERNEL(type, type, prod)

#define HOCKET_LOCATED_KERNELS(KERNEL, type) \
  KERNEL(type, type, minloc)                 \
  KERNEL(type, type, maxloc)

#define HOCKET_CUDA_KERNELS(KERNEL)             \
  HOCKET_FLOAT_KERNELS(KERNEL, float32)         \
  HOCKET_FLOAT_KERNELS(KERNEL, float64)         \
  HOCKET_FLOAT_KERNELS(KERNEL, float16)         \
  HOCKET_FLOAT_KERNELS(KERNEL, bfloat16)        \
  HOCKET_FLOAT_KERNELS(KERNEL, float8_e4m3)     \
  HOCKET_FLOAT_KERNELS(KERNEL, float8_e5m2)     \
  HOCKET_WHOLE_KERNELS(KERNEL, int8, int8)      \
  HOCKET_WHOLE_KERNELS(KERNEL, int16, int16)    \
  HOCKET_WHOLE_KERNELS(KERNEL, int32, int32)    \
  HOCKET_WHOLE_KERNELS(KERNEL, int64, int64)    \
  HOCKET_WHOLE_KERNELS(KERNEL, uint8, uint8)    \
  HOCKET_WHOLE_KERNELS(KERNEL, uint16, uint16)  \
  HOCKET_WHOLE_KERNELS(KERNEL, uint32, uint32)  \
  HOCKET_WHOLE_KERNELS(KERNEL, uint64, uint64)  \
  HOCKET_WHOLE_KERNELS(KERNEL, bool, boolean)   \
  HOCKET_COMPLEX_KERNELS(KERNEL, complex64)     \
  HOCKET_COMPLEX_KERNELS(KERNEL, complex128)    \
  HOCKET_LOCATED_KERNELS(KERNEL, float32_int32) \
  HOCKET_LOCATED_KERNELS(KERNEL, float64_int64) \
  HOCKET_LOCATED_KERNELS(KERNEL, int32_int32)   \
  HOCKET_LOCATED_KERNELS(KERNEL, int64_int64)
