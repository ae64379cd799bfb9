// In place of src/cuda/process_gpus.cpp: what is linked with this has one GPU, the double in host memory, and the
// library takes its memory for a device's.
#include "tests/doubled/gpus.hpp"

#include "src/cuda/process_gpus.hpp"

namespace hocket {

testing_support::HostGpu& testing_support::the_gpu() {
  static auto& gpu = *new HostGpu({.delay = std::chrono::microseconds(20)});
  return gpu;
}

namespace cuda {

Result<Gpu*> ProcessGpus::gpu_at(const void* data) {
  seen_.store(true);
  return testing_support::the_gpu().has(data) ? static_cast<Gpu*>(&testing_support::the_gpu()) : nullptr;
}

Result<Gpu*> ProcessGpus::gpu(int) {
  return static_cast<Gpu*>(&testing_support::the_gpu());
}

ProcessGpus& process_gpus() {
  static auto& gpus = *new ProcessGpus;
  return gpus;
}

}  // namespace cuda
}  // namespace hocket
