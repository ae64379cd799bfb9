#include "tests/support/host_gpu.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/support/host_stream.hpp"
#include "tests/support/shared_file.hpp"

namespace hocket::testing_support {
HostGpu::~HostGpu() {
  for (GpuStream stream : streams_) delete static_cast<HostStream*>(stream);
  delete static_cast<HostStream*>(default_stream_);
  for (const auto& memory : imports_) unmap(memory);
  for (const auto& memory : allocations_) unmap(memory);
  for (const auto& [at, bytes] : pinned_) std::free(at);
}

// ---- memory ---------------------------------------------------------------------------------------------------------

Result<HostGpu::Memories::value_type> HostGpu::map(UniqueFd file, std::uint64_t number, std::size_t bytes) {
  auto touched = map_shared_file(file, bytes);
  if (!touched.ok()) return touched.status();
  void* const shown = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (shown == MAP_FAILED) return Status(Code::out_of_resources, "there is no address space for device memory");
  return Memories::value_type(static_cast<std::byte*>(shown), Memory{std::move(file), number, bytes, *touched});
}

void HostGpu::unmap(const Memories::value_type& memory) {
  ::munmap(memory.first, memory.second.bytes);
  ::munmap(memory.second.touched, memory.second.bytes);
}

const HostGpu::Memories::value_type* HostGpu::memory_at(const void* data) const {
  for (const Memories* const memories : {&allocations_, &imports_}) {
    for (const auto& memory : *memories) {
      if (data >= memory.first && data < memory.first + memory.second.bytes) return &memory;
    }
  }
  return nullptr;
}

bool HostGpu::has(const void* data) {
  const std::lock_guard lock(mutex_);
  return memory_at(data) != nullptr;
}

std::size_t HostGpu::held() {
  const std::lock_guard lock(mutex_);
  return allocations_.size() + imports_.size() + pinned_.size() + words_.size() + streams_.size();
}

std::byte* HostGpu::touched(const void* data) {
  const std::lock_guard lock(mutex_);
  auto* const at = static_cast<std::byte*>(const_cast<void*>(data));
  const auto* const memory = memory_at(data);
  return memory == nullptr ? at : memory->second.touched + (at - memory->first);
}

Result<std::vector<std::string>> HostGpu::reaches() {
  if (Status status = fault("reaches"); !status.ok()) return status;
  std::vector<std::string> reached;
  for (const int number : options_.reaches) reached.push_back(identity_of(number));
  return reached;
}

Result<std::byte*> HostGpu::allocate(std::size_t bytes) {
  return allocate(bytes, false);
}

Result<std::byte*> HostGpu::allocate_mapped(std::size_t bytes) {
  return allocate(bytes, true);
}

Result<std::byte*> HostGpu::allocate(std::size_t bytes, bool by_descriptor) {
  if (Status status = fault("allocate"); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  if (bytes > options_.memory_bytes - allocated_bytes_) {
    return Status(Code::out_of_resources, name() + ": allocating memory: out of memory");
  }
  const std::uint64_t number = next_shared_number();
  auto file = make_shared_file(number, bytes);
  if (!file.ok()) return file.status();
  auto made = map(std::move(*file), number, bytes);
  if (!made.ok()) return made.status();
  made->second.by_descriptor = by_descriptor;
  allocated_bytes_ += bytes;
  return allocations_.insert(std::move(*made)).first->first;
}

Status HostGpu::free(std::byte* memory) {
  if (Status status = fault("free"); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(memory);
  if (found == allocations_.end()) return {Code::invalid_argument, name() + ": freeing memory: not an allocation"};
  unmap(*found);
  allocated_bytes_ -= found->second.bytes;
  allocations_.erase(found);
  return {};
}

Result<std::byte*> HostGpu::allocate_host(std::size_t bytes) {
  if (Status status = fault("allocate_host"); !status.ok()) return status;
  constexpr std::size_t alignment = 64;
  auto* const memory =
      static_cast<std::byte*>(std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment));
  if (memory == nullptr) return Status(Code::out_of_resources, name() + ": allocating pinned memory: out of memory");
  const std::lock_guard lock(mutex_);
  pinned_[memory] = bytes;
  return memory;
}

Status HostGpu::free_host(std::byte* memory) {
  if (Status status = fault("free_host"); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  if (pinned_.erase(memory) == 0) return {Code::invalid_argument, name() + ": freeing pinned memory: it is none"};
  std::free(memory);
  return {};
}

Result<MemoryExport> HostGpu::export_memory(const std::byte* data, std::size_t bytes) {
  if (Status status = fault("export_memory"); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  const auto* const found = memory_at(data);
  const bool is_whole = found != nullptr && data + bytes <= found->first + found->second.bytes;
  if (!is_whole || !found->second.file) {
    return Status(Code::invalid_argument, name() + ": sharing memory with other processes: not its memory");
  }
  const auto& [at, memory] = *found;
  return MemoryExport{.handle = handle_of(memory.file, memory.number, options_.number),
                      .allocation = memory.number,
                      .allocation_at = reinterpret_cast<std::uintptr_t>(at),
                      .allocation_bytes = memory.bytes,
                      .offset = static_cast<std::uint64_t>(data - at),
                      .by_descriptor = memory.by_descriptor};
}

// CUDA may give its mapping for that of newer memory at the same address.
bool HostGpu::has_older_import(int owner, const MemoryExport& memory) const {
  return std::ranges::any_of(imports_, [&](const auto& import) {
    const Memory& open = import.second;
    return open.owner == owner && open.number != memory.allocation &&
           open.owner_at < memory.allocation_at + memory.allocation_bytes &&
           memory.allocation_at < open.owner_at + open.bytes;
  });
}

Result<std::byte*> HostGpu::import_memory(const MemoryExport& memory) {
  if (Status status = fault("import_memory"); !status.ok()) return status;
  SharedFileHandle names;
  std::memcpy(&names, memory.handle.data(), sizeof names);
  if (names.process == ::getpid()) return Status(Code::invalid_argument, "a process cannot open its own memory");
  if (names.gpu != options_.number && std::ranges::find(options_.reaches, names.gpu) == options_.reaches.end()) {
    return Status(Code::invalid_argument, name() + " does not reach memory of GPU " + std::to_string(names.gpu));
  }
  auto file = open_shared_file(memory.handle, memory.by_descriptor);
  if (!file.ok()) return file.status();
  auto mapped = map(std::move(*file), memory.allocation, memory.allocation_bytes);
  if (!mapped.ok()) return mapped.status();
  mapped->second.file.reset();
  mapped->second.owner = names.process;
  mapped->second.owner_at = memory.allocation_at;
  const std::lock_guard lock(mutex_);
  if (has_older_import(names.process, memory)) {
    unmap(*mapped);
    return Status(Code::internal, "other memory that was at this address is still open");
  }
  return imports_.insert(std::move(*mapped)).first->first;
}

Status HostGpu::close_import(std::byte* allocation) {
  if (Status status = fault("close_import"); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  const auto found = imports_.find(allocation);
  if (found == imports_.end()) return {Code::invalid_argument, "closing memory of another process: it is not open"};
  unmap(*found);
  imports_.erase(found);
  return {};
}

}  // namespace hocket::testing_support
