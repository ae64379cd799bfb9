#include "tests/process/support/fenced_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <stdexcept>

#include "hocket/hocket.h"
#include "src/base/fd.hpp"

namespace hocket::process_testing {
namespace {

constexpr std::size_t fence_bytes = 256;
constexpr std::byte fence{0xA5};
constexpr std::byte unwritten{0x5A};
constexpr off_t file_offset = 3 * 4096;

std::byte* map_and_register(std::size_t bytes) {
  const UniqueFd fd(::memfd_create("a caller's", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ::ftruncate(fd.get(), file_offset + static_cast<off_t>(bytes)) != 0) throw std::bad_alloc();
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), file_offset);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  if (hocket_register(fd.get(), memory, bytes) != HOCKET_OK) throw std::runtime_error(hocket_last_error());
  return static_cast<std::byte*>(memory);
}

std::byte* allocate(std::size_t bytes) {
  void* memory = nullptr;
  if (hocket_mem_alloc(&memory, bytes) != HOCKET_OK) throw std::runtime_error(hocket_last_error());
  return static_cast<std::byte*>(memory);
}

std::byte* get(std::size_t bytes, MemoryKind kind) {
  switch (kind) {
    case MemoryKind::allocated: return allocate(bytes);
    case MemoryKind::registered: return map_and_register(bytes);
    case MemoryKind::plain: break;
  }
  return new std::byte[bytes];
}

}  // namespace

std::string_view name_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::allocated: return "allocated";
    case MemoryKind::registered: return "registered";
    case MemoryKind::plain: break;
  }
  return "plain";
}

void FencedMemory::Free::operator()(std::byte* bytes) const {
  switch (kind) {
    case MemoryKind::plain: delete[] bytes; return;
    case MemoryKind::allocated: hocket_mem_free(bytes); return;
    case MemoryKind::registered:
      hocket_unregister(bytes);
      ::munmap(bytes, bytes_mapped);
      return;
  }
}

FencedMemory::FencedMemory(std::size_t size, std::size_t misalignment, MemoryKind kind)
    : total_(size + 2 * fence_bytes + 64 + misalignment), size_(size) {
  bytes_ = {get(total_, kind), Free{kind, total_}};
  const auto address = reinterpret_cast<std::uintptr_t>(bytes_.get()) + fence_bytes;
  start_ = fence_bytes + (64 - address % 64) + misalignment;
  std::fill_n(bytes_.get(), total_, fence);
  std::fill_n(data(), size, unwritten);
}

bool FencedMemory::fences_stand() const {
  const auto is_fence = [](std::byte byte) { return byte == fence; };
  return std::all_of(bytes_.get(), bytes_.get() + start_, is_fence) &&
         std::all_of(bytes_.get() + start_ + size_, bytes_.get() + total_, is_fence);
}

}  // namespace hocket::process_testing
