// A deadline that passes only where something hangs.
#pragma once

#include <chrono>

#include "src/spi/types.hpp"

namespace hocket {

inline Deadline generous() {
  return Deadline::after(std::chrono::seconds(120));
}

}  // namespace hocket
