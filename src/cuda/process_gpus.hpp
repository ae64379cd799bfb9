// The GPUs of this process, by the CUDA driver. Works in builds without CUDA, too, where it tells memory of GPUs apart
// and says that it cannot be used: a program that has device memory has the driver.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "src/spi/gpu.hpp"

namespace hocket::cuda {

class ProcessGpus final : public Gpus {
 public:
  // Without a driver it only looks whether anything was loaded since the last time.
  Result<Gpu*> gpu_at(const void* data) override;

 private:
  Result<Gpu*> gpu(int index);

  std::mutex mutex_;
  std::map<int, Result<std::unique_ptr<Gpu>>> gpus_;  // by the driver's numbers; opened when memory of theirs is met
};

// Never destroyed, since the driver may be gone before.
ProcessGpus& process_gpus();

}  // namespace hocket::cuda
