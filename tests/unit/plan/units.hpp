// Units in which tests of costs write down times and sizes.
#pragma once

#include <cstddef>

namespace hocket {

inline constexpr double microsecond = 1e-6, nanosecond = 1e-9;
inline constexpr std::size_t kib = 1024, mib = 1024 * kib;

}  // namespace hocket
