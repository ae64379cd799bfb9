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

  // A member has this memory now. What it can no longer have, since it has another allocation at that address, is to be
  // closed before anything is opened: a driver that finds the address open may take the one for the other.
  void meet(std::uint32_t member, const MemoryExport& memory);
  bool must_close() const { return !gone_.empty(); }
  // Where a member's memory lies in this process; opens its allocation where it is not open. Requires that it was met,
  // and that nothing must be closed. Errors: those of Gpu::import_memory(). What of the member was not used for
  // longest, if that is too much, is closed by the next close_unused().
  Result<std::byte*> find(std::uint32_t member, const MemoryExport& memory);
  // Closes what is to be closed. Requires that no stream uses what find() returned before.
  Status close_unused();

 private:
  struct Entry {
    std::uint32_t member;
    MemoryExport memory;  // of the whole allocation
    std::byte* at;
    std::uint64_t used;
  };

  static bool is(const Entry& entry, std::uint32_t member, const MemoryExport& memory);
  void retire(std::size_t index, std::vector<std::byte*>& to);
  Status close(std::vector<std::byte*>& all);
  void retire_oldest(std::uint32_t member);

  Gpu& gpu_;
  std::vector<Entry> entries_;
  std::vector<std::byte*> gone_, unused_;  // to be closed
  std::uint64_t uses_ = 0;
};

}  // namespace hocket
