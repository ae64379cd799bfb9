// GpuImports: memory of other members on the same GPU, as this process has it open. Opening costs a millisecond, so
// what is open stays open, for as long as it is what its owner means by it: an address, and even a handle, may come
// again for other memory, but the number of an allocation does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/spi/gpu.hpp"

namespace hocket {

// Thread rule: one thread at a time.
class GpuImports {
 public:
  static constexpr std::size_t kept_of_a_member = 64;

  explicit GpuImports(Gpu& gpu) : gpu_(gpu) {}
  // Closes all; no stream may use them any more.
  ~GpuImports();
  GpuImports(const GpuImports&) = delete;
  GpuImports& operator=(const GpuImports&) = delete;

  // Where a member's memory lies in this process; opens its allocation where it is not open. Errors: those of
  // Gpu::import_memory(). What the member can no longer have, since it has another allocation at that address, and what
  // of it was not used for longest, if that is too much, is closed by the next close_unused().
  Result<std::byte*> find(std::uint32_t member, const MemoryExport& memory);
  // Closes what is to be closed. Requires that no stream uses what find() returned before.
  Status close_unused();

  std::size_t open() const { return entries_.size() + unused_.size(); }

 private:
  struct Entry {
    std::uint32_t member;
    MemoryExport memory;  // of the whole allocation
    std::byte* at;
    std::uint64_t used;
  };

  void retire(std::size_t index);
  void retire_overlapping(std::uint32_t member, const MemoryExport& memory);
  void retire_oldest(std::uint32_t member);

  Gpu& gpu_;
  std::vector<Entry> entries_;
  std::vector<std::byte*> unused_;  // to be closed
  std::uint64_t uses_ = 0;
};

}  // namespace hocket
