#include "src/cuda/memory_kind.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <atomic>
#include <cstdint>

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

bool driver_was_seen() {
  return found.load(std::memory_order_relaxed) != nullptr;
}

std::string device_memory_at(const void* data) {
  const GetAttribute get = get_attribute();
  if (get == nullptr || data == nullptr) return {};
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  unsigned type = 0, managed = 0;
  // It fails for memory that CUDA does not know, and before the driver is initialised.
  if (get(&type, attribute_memory_type, address) != 0 || type == memory_type_host) return {};
  if (get(&managed, attribute_is_managed, address) == 0 && managed != 0) return {};
  int device = 0;
  if (get(&device, attribute_device_ordinal, address) != 0) return "device memory";
  return fmt::format("device memory of GPU {}", device);
}

}  // namespace hocket::cuda
