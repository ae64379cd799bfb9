#include "src/comm/shared_allocation.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "transports/shm/shared_memory.hpp"

namespace hocket::comm {
namespace {

constexpr std::size_t page_bytes = 4096;

}  // namespace

Result<void*> allocate_shared(RegionTable& table, std::size_t bytes) {
  if (bytes == 0 || bytes > static_cast<std::size_t>(PTRDIFF_MAX) - page_bytes) {
    return Status(Code::invalid_argument, fmt::format("{} bytes cannot be allocated", bytes));
  }
  bytes = (bytes + page_bytes - 1) / page_bytes * page_bytes;
  const auto fd = shm::create_memory("an allocation", bytes);
  if (!fd) return fd.status();
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd->get(), 0);
  if (memory == MAP_FAILED) {
    return Status(Code::out_of_resources, fmt::format("cannot map {} bytes of shared memory for an allocation ({}); "
                                                      "see `ulimit -v` and vm.max_map_count",
                                                      bytes, std::strerror(errno)));
  }
  auto added = table.add(fd->get(), memory, bytes, RegionOwner::hocket);
  if (added.ok()) return memory;
  ::munmap(memory, bytes);
  return added.status();
}

Status free_shared(RegionTable& table, void* memory) {
  if (memory == nullptr) return {};
  const auto region = table.remove(memory, RegionOwner::hocket);
  if (!region) {
    return {Code::invalid_argument, "memory was not allocated with hocket_mem_alloc, or is free already"};
  }
  ::munmap(memory, region->bytes);
  return {};
}

}  // namespace hocket::comm
