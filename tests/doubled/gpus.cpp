// In place of src/cuda/process_gpus.cpp and of the device of programs (tools/device): a program that is linked with
// this has one GPU, the double in host memory, and the library takes its memory for a device's.
#include <fmt/format.h>

#include "src/cuda/process_gpus.hpp"
#include "tests/support/host_device.hpp"

namespace hocket {
namespace {

testing::HostGpu& the_gpu() {
  static auto& gpu = *new testing::HostGpu({.delay = std::chrono::microseconds(20)});
  return gpu;
}

}  // namespace

namespace cuda {

Result<Gpu*> ProcessGpus::gpu_at(const void* data) {
  seen_.store(true);
  return the_gpu().has(data) ? static_cast<Gpu*>(&the_gpu()) : nullptr;
}

Result<Gpu*> ProcessGpus::gpu(int) {
  return static_cast<Gpu*>(&the_gpu());
}

ProcessGpus& process_gpus() {
  static auto& gpus = *new ProcessGpus;
  return gpus;
}

}  // namespace cuda

namespace device {

std::unique_ptr<Device> open_device(int index) {
  if (index != 0) {
    throw Error(HOCKET_UNSUPPORTED, fmt::format("there is no GPU {}: this process sees 1", index));
  }
  return std::make_unique<testing::HostDevice>(the_gpu());
}

}  // namespace device
}  // namespace hocket
