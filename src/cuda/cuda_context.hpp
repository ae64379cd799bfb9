// A GPU's primary context, which the runtime API and frameworks use, too.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "src/cuda/driver.hpp"

namespace hocket::cuda {

CUdeviceptr address_of(const std::byte* data);
std::byte* memory_at(CUdeviceptr address);

struct CudaContext {
  explicit CudaContext(const Driver& of) : driver(of) {}
  ~CudaContext() {
    if (context != nullptr) (void)driver.cuDevicePrimaryCtxRelease_(device);
  }
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  const Driver& driver;
  CUdevice device = 0;
  CUcontext context = nullptr;
  std::string name = {};  // for messages

  // Calls function() with this context as the thread's own. `what`: for messages. Somewhere in this process streams may
  // be captured, which must not forbid calls that have nothing to do with them.
  template <class Function>
  Status within(std::string_view what, const Function& function) const {
    CUresult result = driver.cuCtxPushCurrent_(context);
    if (result == CUDA_SUCCESS) {
      CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
      (void)driver.cuThreadExchangeStreamCaptureMode_(&mode);
      result = function();
      (void)driver.cuThreadExchangeStreamCaptureMode_(&mode);
      (void)driver.cuCtxPopCurrent_(nullptr);
    }
    return result == CUDA_SUCCESS ? Status() : driver.check(result, fmt::format("{}: {}", name, what));
  }
};

}  // namespace hocket::cuda
