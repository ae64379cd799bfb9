// What libhocket_heap.so (tools/heap) and the library say to each other where the former is preloaded: it serves large
// allocations from memory that other processes can map, and the library registers them.
#pragma once

#include <cstddef>

namespace hocket {

// Called with the heap's lock held, by any thread. None of them may allocate 1 MiB or more at once.
struct SharedHeapListener {
  // All of the file `fd`, which the listener owns from now on, is mapped shared at `address`.
  void (*added)(int fd, void* address, std::size_t bytes) noexcept = nullptr;
  void (*removed)(void* address) noexcept = nullptr;
  // Around a fork: what added() and removed() lock is locked by the forking thread, so that its child can call them.
  void (*before_fork)() noexcept = nullptr;
  void (*after_fork)() noexcept = nullptr;
};

// The symbol that the heap exports: tells the listener what there is, and from then on what comes and goes. Once.
using ServeSharedHeap = void (*)(const SharedHeapListener& listener) noexcept;
inline constexpr const char* serve_shared_heap = "hocket_heap_serve";

}  // namespace hocket
