// The functions of the CUDA driver that Hocket calls, found in libcuda.so.1 at run time: one binary runs with a driver
// and without. Requires the toolkit's header, which gives each its type.
#pragma once

#include <cuda.h>

#include "src/spi/status.hpp"

namespace hocket::cuda {

// cuda.h gives functions newer names by macros; FUNCTION receives the plain name, whose expansion is the symbol's.
#define HOCKET_CUDA_FUNCTIONS(FUNCTION)       \
  FUNCTION(cuInit)                            \
  FUNCTION(cuGetErrorString)                  \
  FUNCTION(cuDeviceGet)                       \
  FUNCTION(cuDeviceGetCount)                  \
  FUNCTION(cuDeviceGetName)                   \
  FUNCTION(cuDeviceGetUuid)                   \
  FUNCTION(cuDeviceGetAttribute)              \
  FUNCTION(cuDeviceCanAccessPeer)             \
  FUNCTION(cuDevicePrimaryCtxRetain)          \
  FUNCTION(cuDevicePrimaryCtxRelease)         \
  FUNCTION(cuCtxPushCurrent)                  \
  FUNCTION(cuCtxPopCurrent)                   \
  FUNCTION(cuPointerGetAttribute)             \
  FUNCTION(cuMemAlloc)                        \
  FUNCTION(cuMemFree)                         \
  FUNCTION(cuMemGetAddressRange)              \
  FUNCTION(cuMemHostAlloc)                    \
  FUNCTION(cuMemFreeHost)                     \
  FUNCTION(cuMemHostRegister)                 \
  FUNCTION(cuMemHostUnregister)               \
  FUNCTION(cuMemHostGetDevicePointer)         \
  FUNCTION(cuMemAddressFree)                  \
  FUNCTION(cuMemAddressReserve)               \
  FUNCTION(cuMemExportToShareableHandle)      \
  FUNCTION(cuMemImportFromShareableHandle)    \
  FUNCTION(cuMemMap)                          \
  FUNCTION(cuMemRelease)                      \
  FUNCTION(cuMemRetainAllocationHandle)       \
  FUNCTION(cuMemSetAccess)                    \
  FUNCTION(cuMemUnmap)                        \
  FUNCTION(cuMemcpyAsync)                     \
  FUNCTION(cuIpcGetMemHandle)                 \
  FUNCTION(cuIpcOpenMemHandle)                \
  FUNCTION(cuIpcCloseMemHandle)               \
  FUNCTION(cuEventCreate)                     \
  FUNCTION(cuEventDestroy)                    \
  FUNCTION(cuEventQuery)                      \
  FUNCTION(cuEventRecord)                     \
  FUNCTION(cuThreadExchangeStreamCaptureMode) \
  FUNCTION(cuStreamCreate)                    \
  FUNCTION(cuStreamDestroy)                   \
  FUNCTION(cuStreamIsCapturing)               \
  FUNCTION(cuStreamWaitEvent)                 \
  FUNCTION(cuStreamWaitValue64)               \
  FUNCTION(cuStreamWriteValue64)              \
  FUNCTION(cuStreamQuery)                     \
  FUNCTION(cuModuleLoadData)                  \
  FUNCTION(cuModuleUnload)                    \
  FUNCTION(cuModuleGetFunction)               \
  FUNCTION(cuLaunchKernel)

struct Driver {
#define HOCKET_CUDA_MEMBER(name) decltype(&::name) name##_ = nullptr;
  HOCKET_CUDA_FUNCTIONS(HOCKET_CUDA_MEMBER)
#undef HOCKET_CUDA_MEMBER

  // Ok, or the failure of `what` ("GPU 0: opening memory") in the driver's words.
  Status check(CUresult result, std::string_view what) const;
};

// Loads and initialises it at the first call. Code::unsupported where there is no driver, or no GPU that it can use.
Result<const Driver*> driver();

}  // namespace hocket::cuda
