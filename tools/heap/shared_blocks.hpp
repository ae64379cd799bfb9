// SharedBlocks: allocations of 1 MiB and more, each a file in memory that other processes can map.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>

#include "src/base/shared_heap.hpp"
#include "tools/heap/address_space.hpp"
#include "tools/heap/libc_memory.hpp"

namespace hocket::heap {

inline constexpr std::size_t shared_from_bytes = std::size_t{1} << 20;
inline constexpr std::size_t page_bytes = 4096;  // what blocks are aligned to

// Thread rule: any thread. Freed blocks are kept, up to a bound: a program that allocates the same again finds memory
// that its peers have mapped already.
class SharedBlocks {
 public:
  // Null: this allocation is better served, or can only be served, by the C library. `zeroed`: whether the block is
  // to hold zeros.
  void* allocate(std::size_t bytes, bool zeroed = false) noexcept;
  bool contains(const void* memory) const { return addresses_.contains(memory); }
  // What was allocated, rounded up. The address must be a block's.
  std::size_t bytes_of(const void* memory) noexcept;
  void free(void* memory) noexcept;

  void serve(const SharedHeapListener& listener) noexcept;

  // Around a fork, by pthread_atfork. The child gets a copy of its own of every block; its parent waits for that.
  void before_fork() noexcept;
  void after_fork_in_parent() noexcept;
  void after_fork_in_child() noexcept;

 private:
  struct Block {
    std::size_t bytes = 0;
    int fd = -1;          // the listener's as soon as there is one
    bool shared = false;  // with other processes; else a forked child's own copy
  };

  void* reuse(std::size_t bytes, bool zeroed);
  void* make(std::size_t bytes);
  void tell_of(void* address, Block& block);
  void release(void* address, const Block& block);
  bool keep(void* memory, const Block& block);
  void drop_kept();

  std::mutex mutex_;
  AddressSpace addresses_;
  Map<void*, Block> blocks_;           // those in use, and those kept
  MultiMap<std::size_t, void*> kept_;  // by their bytes
  std::size_t kept_bytes_ = 0;
  std::optional<SharedHeapListener> listener_;
  int copied_[2] = {-1, -1};  // while a fork goes on: a pipe through which the child says that it has its copies
};

}  // namespace hocket::heap
