/// @file
/// What calls in C++ take: ranges of elements, and options; and how the latest one was carried out.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>

#include "hocket/call.h"
#include "hocket/errors.hpp"
#include "hocket/types.hpp"

namespace hocket {
inline namespace api {

/// How float32 may travel between ranks; every name is that of a ::hocket_wire.
enum class Wire {
  exact = HOCKET_WIRE_EXACT,              ///< #HOCKET_WIRE_EXACT
  bfloat16 = HOCKET_WIRE_BFLOAT16,        ///< #HOCKET_WIRE_BFLOAT16
  int8_blocks = HOCKET_WIRE_INT8_BLOCKS,  ///< #HOCKET_WIRE_INT8_BLOCKS
};

/// A contiguous range of elements that outlives the expression it appears in: a span, or a vector or array that is not
/// a temporary.
template <class R>
concept Source = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && std::ranges::borrowed_range<R> &&
    Element<std::ranges::range_value_t<R>>;
/// A Source whose elements can be written.
template <class R>
concept Sink = Source<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

/// Options of one call, as in ::hocket_call_options.
struct CallOptions {
  std::chrono::milliseconds timeout{0};  ///< The deadline of this call; 0: the communicator's.
  const void* scalar = nullptr;          ///< For Op::premultiplied_sum: one element of the call's type.
  hocket_function function = nullptr;    ///< For Op::user: the function that combines two operands.
  void* context = nullptr;               ///< Passed to `function` unchanged.
  bool commutative = false;              ///< Whether `function` gives the same bits when its operands are exchanged.
  Wire wire = Wire::exact;               ///< How float32 may travel.
  bool persistent = false;        ///< For calls named …_async: nothing starts until Work::start() or Work::run().
  std::size_t element_bytes = 0;  ///< Of an is_opaque type; only calls on lists need it, others set it themselves.
  void* stream = nullptr;         ///< Of data in device memory: the CUstream or cudaStream_t that orders it.

  friend bool operator==(const CallOptions&, const CallOptions&) = default;
};

/// How this thread's latest successful call was carried out, see hocket_last_call(). Throws if there was none.
inline hocket_call_info last_call() {
  hocket_call_info info = HOCKET_CALL_INFO_INIT;
  check(hocket_last_call(&info));
  return info;
}

namespace detail {

// Both ranges of a call have the same elements, which `send` need not be able to change.
template <class S, class T>
using SameElement = std::enable_if_t<std::same_as<std::remove_const_t<S>, T>>;

// The C API sees one count; ranges that disagree with it are found here.
inline void require_size(const char* call, const char* range, std::size_t found, std::size_t wanted) {
  if (found == wanted) return;
  throw Error(HOCKET_INVALID_ARGUMENT, std::string(call) + ": `" + range + "` has " + std::to_string(found) +
                                           " elements but must have " + std::to_string(wanted) + ".");
}

inline hocket_op to_c(Op op) {
  return static_cast<hocket_op>(op);
}

template <class Range>
auto view(Range& range) {
  return std::span<std::remove_reference_t<std::ranges::range_reference_t<Range>>>(range);
}

// A call's options as the C API takes them.
class GivenOptions {
 public:
  explicit GivenOptions(const CallOptions& options) : some_(options != CallOptions()) {
    options_.timeout_ms = options.timeout.count();
    options_.scalar = options.scalar;
    options_.function = options.function;
    options_.context = options.context;
    options_.commutative = options.commutative ? 1 : 0;
    options_.wire = static_cast<hocket_wire>(options.wire);
    options_.persistent = options.persistent ? 1 : 0;
    options_.element_bytes = options.element_bytes;
    options_.stream = options.stream;
  }
  // Null where they ask for nothing: such a call takes less time.
  const hocket_call_options* get() const { return some_ ? &options_ : nullptr; }

 private:
  hocket_call_options options_ = HOCKET_CALL_OPTIONS_INIT;
  const bool some_;
};

inline GivenOptions to_c(const CallOptions& options) {
  return GivenOptions(options);
}

// The same, for elements of type T.
template <class T>
GivenOptions to_c(CallOptions options) {
  if constexpr (is_opaque<std::remove_const_t<T>>) options.element_bytes = sizeof(T);
  return GivenOptions(options);
}

}  // namespace detail

}  // namespace api
}  // namespace hocket
