#include "src/comm/shared_allocation.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hocket {
namespace {

// Large allocations begin where a huge page could.
constexpr std::size_t page_bytes = 4096;

Status failure(const char* what, std::size_t bytes, Code code) {
  return {code,
          fmt::format("{} bytes of shared memory cannot be had: {} failed ({})", bytes, what, std::strerror(errno))};
}

}  // namespace

Result<void*> allocate_shared(RegionTable& table, std::size_t bytes) {
  if (bytes == 0 || bytes > static_cast<std::size_t>(PTRDIFF_MAX) - page_bytes) {
    return Status(Code::invalid_argument, fmt::format("{} bytes cannot be allocated", bytes));
  }
  bytes = (bytes + page_bytes - 1) / page_bytes * page_bytes;
  const UniqueFd fd(::memfd_create("hocket", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd)
    return failure("memfd_create", bytes,
                   errno == EMFILE || errno == ENFILE ? Code::out_of_resources : Code::unsupported);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return failure("ftruncate", bytes, Code::out_of_resources);
  // Committed now, so that touching it later cannot fault; sealed, so that nobody can shrink it.
  if (::fallocate(fd.get(), 0, 0, static_cast<off_t>(bytes)) != 0)
    return failure("fallocate", bytes, Code::out_of_resources);
  ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd.get(), 0);
  if (memory == MAP_FAILED) return failure("mmap", bytes, Code::out_of_resources);
  auto added = table.add(fd.get(), memory, bytes);
  if (added.ok()) return memory;
  ::munmap(memory, bytes);
  return added.status();
}

Status free_shared(RegionTable& table, void* memory) {
  if (memory == nullptr) return {};
  const auto region = table.find(memory, 1);
  if (!region || region->address != memory || !table.remove(region->id)) {
    return {Code::invalid_argument, "memory was not allocated with hocket_mem_alloc, or is free already"};
  }
  ::munmap(memory, region->bytes);
  return {};
}

}  // namespace hocket
