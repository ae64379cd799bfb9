// The C API's registered memory.
#include "src/capi/handles.hpp"
#include "src/comm/shared_allocation.hpp"

using namespace hocket::capi;  // the functions of the API stand outside all namespaces
using hocket::Code;
using hocket::Status;

namespace hocket::capi {

// Never destroyed, because memory may be freed after main.
RegionTable& registered_memory() {
  static auto* const table = new RegionTable;
  return *table;
}

}  // namespace hocket::capi

extern "C" {

hocket_result hocket_mem_alloc(void** memory, size_t bytes) {
  return guarded([&]() -> Status {
    if (memory == nullptr) return null_argument("memory");
    *memory = nullptr;
    auto made = hocket::comm::allocate_shared(registered_memory(), bytes);
    if (!made.ok()) return made.status();
    *memory = *made;
    return {};
  });
}

hocket_result hocket_mem_free(void* memory) {
  return guarded([&] { return hocket::comm::free_shared(registered_memory(), memory); });
}

hocket_result hocket_register(int fd, void* address, size_t bytes) {
  return guarded([&]() -> Status {
    const auto id = registered_memory().add(fd, address, bytes);
    return id.ok() ? Status() : id.status();
  });
}

hocket_result hocket_unregister(void* address) {
  return guarded([&]() -> Status {
    if (registered_memory().remove(address)) return {};
    return {Code::invalid_argument, "address is not the start of memory that hocket_register() was given"};
  });
}

}  // extern "C"
