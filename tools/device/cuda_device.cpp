// By the CUDA driver, in the primary context of the device, in which the library works, too.
#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "src/base/arithmetic.hpp"
#include "src/cuda/driver.hpp"
#include "src/cuda/open_gpu.hpp"
#include "tools/device/device.hpp"
#include "tools/device/require.hpp"

namespace hocket::device {
namespace {

constexpr unsigned threads_per_block = 256;
constexpr std::uint64_t blocks_max = 4096;

// As all drivers have it; headers of CUDA 12.8 and later mean another function by this name.
using ElapsedTime = CUresult (*)(float* milliseconds, CUevent from, CUevent to);

ElapsedTime elapsed_time() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* const found = library == nullptr ? nullptr : ::dlsym(library, "cuEventElapsedTime");
  if (found == nullptr) throw Error(HOCKET_UNSUPPORTED, "the CUDA driver has no cuEventElapsedTime");
  return reinterpret_cast<ElapsedTime>(found);
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index)
      : gpu_(require(cuda::open_gpu(index))), driver_(*require(cuda::driver())), elapsed_time_(elapsed_time()) {
    ask("finding it", driver_.cuDeviceGet_(&device_, index));
    ask("making its context", driver_.cuDevicePrimaryCtxRetain_(&context_, device_));
  }
  ~CudaDevice() override {
    for (const auto& [image, module] : modules_) {
      (void)driver_.cuCtxPushCurrent_(context_);
      (void)driver_.cuModuleUnload_(module);
      (void)driver_.cuCtxPopCurrent_(nullptr);
    }
    (void)driver_.cuDevicePrimaryCtxRelease_(device_);
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  Gpu& gpu() override { return *gpu_; }

  void launch(GpuStream stream, const Kernel& kernel, std::span<const std::byte> arguments,
              std::uint64_t threads) override {
    const auto blocks =
        static_cast<unsigned>(std::clamp<std::uint64_t>(divide_up(threads, threads_per_block), 1, blocks_max));
    CUfunction function = function_of(kernel);
    void* parameters[] = {const_cast<std::byte*>(arguments.data())};
    within("launching a kernel", [&] {
      return driver_.cuLaunchKernel_(function, blocks, 1, 1, threads_per_block, 1, 1, 0, static_cast<CUstream>(stream),
                                     parameters, nullptr);
    });
  }

  std::unique_ptr<Instant> make_instant() override {
    CUevent event = nullptr;
    within("making an event", [&] { return driver_.cuEventCreate_(&event, CU_EVENT_DEFAULT); });
    return std::make_unique<CudaInstant>(*this, event);
  }
  void record(GpuStream stream, Instant& instant) override {
    within("recording an event",
           [&] { return driver_.cuEventRecord_(event_of(instant), static_cast<CUstream>(stream)); });
  }
  double microseconds_between(Instant& from, Instant& to) override {
    float milliseconds = 0;
    within("reading events", [&] { return elapsed_time_(&milliseconds, event_of(from), event_of(to)); });
    return static_cast<double>(milliseconds) * 1e3;
  }

 private:
  struct CudaInstant final : Instant {
    CudaInstant(const CudaDevice& of, CUevent made) : device(of), event(made) {}
    ~CudaInstant() override {
      (void)device.driver_.cuCtxPushCurrent_(device.context_);
      (void)device.driver_.cuEventDestroy_(event);
      (void)device.driver_.cuCtxPopCurrent_(nullptr);
    }
    CudaInstant(const CudaInstant&) = delete;
    CudaInstant& operator=(const CudaInstant&) = delete;
    const CudaDevice& device;
    const CUevent event;
  };
  static CUevent event_of(Instant& instant) { return static_cast<CudaInstant&>(instant).event; }

  void ask(std::string_view what, CUresult result) const {
    if (result != CUDA_SUCCESS) require(driver_.check(result, gpu_->name() + ": " + std::string(what)));
  }
  // Calls function() with this device's context as the thread's own.
  template <class Function>
  void within(std::string_view what, const Function& function) const {
    ask(what, driver_.cuCtxPushCurrent_(context_));
    const CUresult result = function();
    (void)driver_.cuCtxPopCurrent_(nullptr);
    ask(what, result);
  }
  CUfunction function_of(const Kernel& kernel) {
    CUfunction& found = functions_[kernel.name];
    if (found != nullptr) return found;
    CUmodule& module = modules_[kernel.image];
    within("loading kernels", [&] {
      const CUresult loaded = module == nullptr ? driver_.cuModuleLoadData_(&module, kernel.image) : CUDA_SUCCESS;
      return loaded == CUDA_SUCCESS ? driver_.cuModuleGetFunction_(&found, module, kernel.name) : loaded;
    });
    return found;
  }

  const std::unique_ptr<Gpu> gpu_;
  const cuda::Driver& driver_;
  const ElapsedTime elapsed_time_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  std::map<const unsigned char*, CUmodule> modules_;  // by their images
  std::map<std::string, CUfunction> functions_;
};

}  // namespace

std::unique_ptr<Device> open_device(int index) {
  return std::make_unique<CudaDevice>(index);
}

}  // namespace hocket::device
