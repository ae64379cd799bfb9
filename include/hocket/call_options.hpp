// What calls of hocket.hpp take: ranges of elements, and options.
#pragma once

#include <chrono>
#include <ranges>
#include <span>
#include <type_traits>

#include "hocket/element_types.hpp"
#include "hocket/hocket.h"

namespace hocket {
inline namespace api {

// How float32 travels, see hocket_wire.
enum class Wire {
  exact = HOCKET_WIRE_EXACT,
  bfloat16 = HOCKET_WIRE_BFLOAT16,
  int8_blocks = HOCKET_WIRE_INT8_BLOCKS,
};

// A contiguous range of elements that outlives the expression it appears in (a temporary vector does not).
template <class R>
concept Source = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && std::ranges::borrowed_range<R> &&
    Element<std::ranges::range_value_t<R>>;
template <class R>
concept Sink = Source<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

// What one call may say beyond its arguments; zero: the communicator's timeout. The others are as in
// hocket_call_options.
struct CallOptions {
  std::chrono::milliseconds timeout{0};
  const void* scalar = nullptr;
  hocket_function function = nullptr;
  void* context = nullptr;
  bool commutative = false;
  Wire wire = Wire::exact;
  bool persistent = false;  // of calls named …_async: they give a Work that start() and run() start
};

namespace detail {

template <class Range>
auto view(Range& range) {
  return std::span<std::remove_reference_t<std::ranges::range_reference_t<Range>>>(range);
}

inline hocket_call_options to_c(CallOptions options) {
  hocket_call_options given = HOCKET_CALL_OPTIONS_INIT;
  given.timeout_ms = options.timeout.count();
  given.scalar = options.scalar;
  given.function = options.function;
  given.context = options.context;
  given.commutative = options.commutative ? 1 : 0;
  given.wire = static_cast<hocket_wire>(options.wire);
  given.persistent = options.persistent ? 1 : 0;
  return given;
}

}  // namespace detail

}  // namespace api
}  // namespace hocket
