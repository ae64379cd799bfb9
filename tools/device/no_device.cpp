// In place of cuda_device.cpp in builds without a CUDA toolkit.
#include "src/cuda/open_gpu.hpp"
#include "tools/device/device.hpp"
#include "tools/device/require.hpp"

namespace hocket::device {

std::unique_ptr<Device> open_device(int index) {
  require(cuda::open_gpu(index));  // says what is missing
  return nullptr;
}

}  // namespace hocket::device
