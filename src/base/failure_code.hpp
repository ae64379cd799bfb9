// Codes of failures that come from outside as numbers.
#pragma once

#include <cstdint>

#include "src/spi/status.hpp"

namespace hocket {

// Whether the number is the code of a failure that this build knows. A negative number, widened, is none.
constexpr bool is_failure(std::uint64_t number) {
  constexpr Code last = Code::excluded;
  return number > static_cast<std::uint64_t>(Code::in_progress) && number <= static_cast<std::uint64_t>(last);
}

}  // namespace hocket
