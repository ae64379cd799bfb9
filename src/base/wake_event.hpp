// An eventfd that ends somebody's poll(2).
#pragma once

#include <cstdint>

#include "src/base/fd.hpp"

namespace hocket {

// Fails only if the event is set already, or if there is none.
inline void set_event(int event) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event, &one, sizeof one);
}
inline void set_event(const UniqueFd& event) {
  set_event(event.get());
}

inline void clear_event(const UniqueFd& event) {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(event.get(), &count, sizeof count);  // fails only if it was not set
}

}  // namespace hocket
