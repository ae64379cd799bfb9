// The C library's own allocator, which the heap stands in front of, and containers that take their memory from it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <new>
#include <utility>

// By the names that glibc gives them for those who stand in front of it.
extern "C" {
void* libc_malloc(std::size_t bytes) __asm__("__libc_malloc");
void* libc_calloc(std::size_t count, std::size_t bytes) __asm__("__libc_calloc");
void* libc_realloc(void* memory, std::size_t bytes) __asm__("__libc_realloc");
void* libc_memalign(std::size_t alignment, std::size_t bytes) __asm__("__libc_memalign");
void libc_free(void* memory) __asm__("__libc_free");
}

namespace hocket::heap {

// The program may have an operator new of its own, which may call malloc: the heap's tables must not go through it.
template <class T>
struct LibcAllocator {
  using value_type = T;

  LibcAllocator() = default;
  template <class U>
  LibcAllocator(const LibcAllocator<U>& other) {
    (void)other;
  }

  T* allocate(std::size_t count) {
    void* const memory = libc_malloc(count * sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    (void)count;
    libc_free(memory);
  }

  friend bool operator==(const LibcAllocator&, const LibcAllocator&) { return true; }
};

template <class Key, class Value>
using Map = std::map<Key, Value, std::less<>, LibcAllocator<std::pair<const Key, Value>>>;
template <class Key, class Value>
using MultiMap = std::multimap<Key, Value, std::less<>, LibcAllocator<std::pair<const Key, Value>>>;

}  // namespace hocket::heap
