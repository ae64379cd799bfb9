// libhocket_heap.so: preloaded into a program that knows nothing of it, serves its large allocations from memory that
// other ranks of the host can map (hocket-run --shared-heap). All others, and those that it cannot serve, are the C
// library's.
#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "src/base/shared_heap.hpp"
#include "tools/heap/libc_memory.hpp"
#include "tools/heap/shared_blocks.hpp"

namespace hocket::heap {
namespace {

// Made at the first large allocation, by the thread that makes it; never destroyed, as memory is freed after main.
std::atomic<SharedBlocks*> made{nullptr};
alignas(SharedBlocks) std::byte storage[sizeof(SharedBlocks)];
pthread_once_t once = PTHREAD_ONCE_INIT;
std::atomic<bool> may_share{false};  // before that, and without handlers of forks, all memory is the C library's

void make() {
  made.store(new (storage) SharedBlocks, std::memory_order_release);
}

// Whether this thread forks, and the blocks know it.
thread_local bool forking = false;

// Early, because the handlers that were registered last are the first to be called before a fork: those of others then
// run while the heap is not locked.
__attribute__((constructor)) void look_after_forks() {
  const auto before = [] {
    SharedBlocks* const blocks = made.load(std::memory_order_acquire);
    forking = blocks != nullptr;
    if (forking) blocks->before_fork();
  };
  const auto in_parent = [] {
    if (std::exchange(forking, false)) made.load()->after_fork_in_parent();
  };
  const auto in_child = [] {
    if (std::exchange(forking, false)) made.load()->after_fork_in_child();
  };
  may_share.store(::pthread_atfork(before, in_parent, in_child) == 0);
}

SharedBlocks& shared() {
  (void)::pthread_once(&once, make);
  return *made.load(std::memory_order_relaxed);
}

bool is_shared(const void* memory) {
  const SharedBlocks* const blocks = made.load(std::memory_order_acquire);
  return blocks != nullptr && blocks->contains(memory);
}

void* allocate(std::size_t bytes, bool zeroed = false) {
  if (bytes < shared_from_bytes || !may_share.load(std::memory_order_relaxed)) return nullptr;
  return shared().allocate(bytes, zeroed);
}

void* allocate_aligned(std::size_t alignment, std::size_t bytes) {
  if (alignment <= page_bytes) {
    if (void* const memory = allocate(bytes)) return memory;
  }
  return libc_memalign(alignment, bytes);
}

std::size_t bytes_in_libc(void* memory) {
  using Function = std::size_t (*)(void*);
  static const auto function = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "malloc_usable_size"));
  return function == nullptr ? 0 : function(memory);
}

std::size_t usable_bytes(void* memory) {
  return is_shared(memory) ? shared().bytes_of(memory) : bytes_in_libc(memory);
}

void release(void* memory) {
  if (is_shared(memory)) {
    shared().free(memory);
  } else {
    libc_free(memory);
  }
}

// Where it can stay what it is, it does not move.
void* reallocate(void* memory, std::size_t bytes) {
  const bool from_shared = is_shared(memory);
  if (memory == nullptr || (!from_shared && bytes < shared_from_bytes)) return libc_realloc(memory, bytes);
  const std::size_t before = usable_bytes(memory);
  if (from_shared && bytes <= before && bytes > before / 2) return memory;
  void* to = allocate(bytes);
  if (to == nullptr) {
    if (!from_shared) return libc_realloc(memory, bytes);
    to = libc_malloc(bytes);
    if (to == nullptr) return nullptr;
  }
  std::memcpy(to, memory, std::min(before, bytes));
  release(memory);
  return to;
}

}  // namespace
}  // namespace hocket::heap

using namespace hocket::heap;

#pragma GCC visibility push(default)
extern "C" {

void hocket_heap_serve(const hocket::SharedHeapListener& listener) noexcept {
  shared().serve(listener);
}

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the names in the C library's headers are reserved
void* malloc(std::size_t bytes) noexcept {
  void* const memory = allocate(bytes);
  return memory != nullptr ? memory : libc_malloc(bytes);
}

void* calloc(std::size_t count, std::size_t bytes) noexcept {
  std::size_t all = 0;
  if (!__builtin_mul_overflow(count, bytes, &all)) {
    if (void* const memory = allocate(all, true)) return memory;
  }
  return libc_calloc(count, bytes);
}

void* realloc(void* memory, std::size_t bytes) noexcept {
  if (memory == nullptr) return malloc(bytes);
  if (bytes == 0) {  // what the C library does
    release(memory);
    return nullptr;
  }
  return reallocate(memory, bytes);
}

void* reallocarray(void* memory, std::size_t count, std::size_t bytes) noexcept {
  std::size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(memory, all);
}

void free(void* memory) noexcept {
  release(memory);
}

void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return allocate_aligned(alignment, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return allocate_aligned(alignment, bytes);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  if (!std::has_single_bit(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int error = errno;
  void* const got = allocate_aligned(alignment, bytes);
  errno = error;
  if (got == nullptr) return ENOMEM;
  *memory = got;
  return 0;
}

void* valloc(std::size_t bytes) noexcept {
  return allocate_aligned(page_bytes, bytes);
}

void* pvalloc(std::size_t bytes) noexcept {
  return allocate_aligned(page_bytes, (bytes + page_bytes - 1) / page_bytes * page_bytes);
}

std::size_t malloc_usable_size(void* memory) noexcept {
  return memory == nullptr ? 0 : usable_bytes(memory);
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)

}  // extern "C"
#pragma GCC visibility pop
