// Random numbers: those that name things, so that what two processes draw is never the same, and those that nobody may
// guess.
#pragma once

#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <random>
#include <span>
#include <system_error>

namespace hocket {

inline std::uint64_t random_number() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

// From the kernel. Throws std::system_error where that has none, which no kernel in use does.
inline void fill_randomly(std::span<char> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::getrandom(bytes.data(), bytes.size(), 0);
    if (got < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
    if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace hocket
