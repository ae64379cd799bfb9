// AddressSpace: a range of addresses in which all shared blocks lie, so that one comparison tells them from other
// memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tools/heap/libc_memory.hpp"

namespace hocket::heap {

// Thread rule: one thread at a time, except contains().
class AddressSpace {
 public:
  // Nothing is reserved where the system allows none; then there is never room.
  AddressSpace();

  bool contains(const void* address) const { return reinterpret_cast<std::uintptr_t>(address) - begin_ < bytes_; }
  // Addresses of so many bytes, a multiple of the page, nothing mapped there; null: there is no room.
  void* take(std::size_t bytes);
  // Whatever is mapped there goes. Without memory for the table, the addresses are lost.
  void give_back(void* address, std::size_t bytes) noexcept;

 private:
  std::uintptr_t begin_ = 0;
  std::size_t bytes_ = 0;
  Map<std::uintptr_t, std::size_t> free_;  // ranges of addresses, none next to another
};

}  // namespace hocket::heap
