// Random numbers that name things: what two processes draw is never the same.
#pragma once

#include <cstdint>
#include <random>

namespace hocket {

inline std::uint64_t random_number() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

}  // namespace hocket
