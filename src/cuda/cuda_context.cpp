#include "src/cuda/cuda_context.hpp"

#include <bit>

namespace hocket::cuda {

CUdeviceptr address_of(const std::byte* data) {
  return reinterpret_cast<CUdeviceptr>(data);
}

std::byte* memory_at(CUdeviceptr address) {
  return std::bit_cast<std::byte*>(address);
}

}  // namespace hocket::cuda
