// How many times as long a test may wait for something that comes: with sanitizers all takes longer, some of it very
// much.
#pragma once

namespace hocket {

#if defined(__SANITIZE_THREAD__)
inline constexpr int sanitizer_slowness = 8;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr int sanitizer_slowness = 3;
#else
inline constexpr int sanitizer_slowness = 1;
#endif

}  // namespace hocket
