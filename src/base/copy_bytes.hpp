// Copies of any length between any two places that do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hocket {

// From the last line to the first.
void copy_backwards(std::byte* to, const std::byte* from, std::size_t bytes);

// std::memcpy(), but where that is slow. From some length on glibc copies with REP MOVSB, which on AMD's Zen 3 and 4
// takes 15 times as long where the target begins up to 31 bytes behind the source within its page (measured; glibc's
// bug 30994). Shared memory begins with a page, and what malloc maps 16 bytes behind one. What follows loads behind its
// own stores, so the loads of a copy towards higher addresses would wait for these.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::uintptr_t page = 4096, slow_until = 32;
  constexpr std::size_t rep_movsb_min = 2048;
  const auto behind = (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % page;
  if (bytes >= rep_movsb_min && behind - 1 < slow_until - 1) [[unlikely]]
    return copy_backwards(to, from, bytes);
  if (bytes != 0) std::memcpy(to, from, bytes);
}

}  // namespace hocket
