// The C API's registered memory.
#include <dlfcn.h>

#include "src/base/shared_heap.hpp"
#include "src/capi/handles.hpp"
#include "src/comm/shared_allocation.hpp"

using namespace hocket::capi;  // the functions of the API stand outside all namespaces
using hocket::Code;
using hocket::Status;

namespace hocket::capi {

namespace {

// That of registered_memory(), for the functions that a shared heap calls.
RegionTable* table_of_heap = nullptr;

void add_block(int fd, void* address, std::size_t bytes) noexcept {
  try {
    table_of_heap->add_own(UniqueFd(fd), address, bytes, RegionOwner::heap);
  } catch (const std::bad_alloc&) {  // the block is plain memory then
  }
}

// Registers what a shared heap allocates, where the process has one.
void use_shared_heap(RegionTable& table) {
  const auto serve = reinterpret_cast<ServeSharedHeap>(::dlsym(RTLD_DEFAULT, serve_shared_heap));
  if (serve == nullptr) return;
  table_of_heap = &table;
  serve({.added = add_block,
         .removed = [](void* address) noexcept { (void)table_of_heap->remove(address, RegionOwner::heap); },
         .before_fork = []() noexcept { table_of_heap->lock(); },
         .after_fork = []() noexcept { table_of_heap->unlock(); }});
}

}  // namespace

// Never destroyed, because memory may be freed after main.
RegionTable& registered_memory() {
  static RegionTable& table = [&]() -> RegionTable& {
    auto* const made = new RegionTable;
    use_shared_heap(*made);
    return *made;
  }();
  return table;
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
