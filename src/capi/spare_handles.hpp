// Memory of the handles that a thread has released, for those that it makes next: programs have more of them at once
// than malloc keeps at hand.
#pragma once

#include <cstddef>
#include <new>

namespace hocket::capi {

// Of the calling thread. All handles are of one size.
struct SpareHandles {
  void* first = nullptr;  // each begins with the address of the next
  std::size_t room = 0;   // for so many more

  void* take(std::size_t bytes) {
    if (first == nullptr) return ::operator new(bytes);
    void* const handle = first;
    first = *static_cast<void**>(handle);
    ++room;
    return handle;
  }
  void give(void* handle) noexcept {
    if (room == 0 && !open()) return ::operator delete(handle);
    *static_cast<void**>(handle) = first;
    first = handle;
    --room;
  }

 private:
  bool open() noexcept;
};

extern constinit thread_local SpareHandles spare_handles;

}  // namespace hocket::capi
