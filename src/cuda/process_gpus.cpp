#include "src/cuda/process_gpus.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <atomic>
#include <cstdint>

#include "src/cuda/open_gpu.hpp"

namespace hocket::cuda {
namespace {

// As the driver's interface numbers them; declared here, because this is compiled without its header, too.
constexpr int attribute_memory_type = 2, attribute_is_managed = 8, attribute_device_ordinal = 9;
constexpr unsigned memory_type_host = 1;
using GetAttribute = int (*)(void* value, int attribute, std::uintptr_t address);

// How many libraries have been loaded so far.
unsigned long long loaded_libraries() {
  unsigned long long count = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* to) {
        *static_cast<unsigned long long*>(to) = info->dlpi_adds;
        return 1;  // one is enough: each says it
      },
      &count);
  return count;
}

std::atomic<GetAttribute> found{nullptr};
std::atomic<unsigned long long> looked_at{0};  // how many libraries were loaded then

// Null while the driver is not in this process. It is never taken out, because it cannot be.
GetAttribute get_attribute() {
  if (const GetAttribute known = found.load(std::memory_order_acquire)) return known;
  const unsigned long long now = loaded_libraries();
  if (now == looked_at.load(std::memory_order_relaxed)) return nullptr;
  if (void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD)) {  // never closed
    found.store(reinterpret_cast<GetAttribute>(::dlsym(driver, "cuPointerGetAttribute")), std::memory_order_release);
  }
  looked_at.store(now, std::memory_order_relaxed);
  return found.load(std::memory_order_acquire);
}

}  // namespace

Result<Gpu*> ProcessGpus::gpu_at(const void* data) {
  constexpr Gpu* none = nullptr;
  const GetAttribute get = data != nullptr ? get_attribute() : nullptr;
  if (get == nullptr) return none;
  seen_.store(true, std::memory_order_relaxed);
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  unsigned type = 0, managed = 0;
  // It fails for memory that CUDA does not know, and before the driver is initialised.
  if (get(&type, attribute_memory_type, address) != 0 || type == memory_type_host) return none;
  if (get(&managed, attribute_is_managed, address) == 0 && managed != 0) return none;
  int device = 0;
  if (get(&device, attribute_device_ordinal, address) != 0) {
    return Status(Code::unsupported, "device memory of a GPU that the driver does not name");
  }
  return gpu(device);
}

Result<Gpu*> ProcessGpus::gpu(int index) {
  const std::lock_guard lock(mutex_);
  auto known = gpus_.find(index);
  if (known == gpus_.end()) known = gpus_.emplace(index, open_gpu(index)).first;
  if (known->second.ok()) return known->second->get();
  return Status(Code::unsupported, fmt::format("device memory of GPU {}, which cannot be used here: {}", index,
                                               known->second.status().message()));
}

ProcessGpus& process_gpus() {
  static auto& gpus = *new ProcessGpus;
  return gpus;
}

}  // namespace hocket::cuda
