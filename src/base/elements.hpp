// The element types as C++ types, and what reducing two elements means, written to be read: one element at a time,
// without vector instructions. The kernels of src/exec are compared with this, and so are the results of collectives.
#pragma once

#include <cmath>
#include <complex>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "src/spi/elements.hpp"

namespace hocket::elements {

// A float of `exponent_bits` and `fraction_bits` and a sign. With infinities it is as IEEE 754 has it; without, the
// largest bits are NaN and all below are numbers (OCP 8-bit Floating Point Specification, section 5).
template <int exponent_bits, int fraction_bits, bool infinities = true>
class NarrowFloat {
 public:
  using Bits = std::conditional_t<exponent_bits + fraction_bits == 7, std::uint8_t, std::uint16_t>;
  static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  static constexpr Bits sign_bit = static_cast<Bits>(1U << (exponent_bits + fraction_bits));
  static constexpr Bits infinity_bits = ((1U << exponent_bits) - 1U) << fraction_bits;
  static constexpr Bits nan_bits = infinities ? infinity_bits | (1U << (fraction_bits - 1)) : sign_bit - 1U;
  // The largest number's bits are one below.
  static constexpr Bits overflow_bits = infinities ? infinity_bits : nan_bits;

  NarrowFloat() = default;
  // Rounds to the nearest, ties to even.
  explicit NarrowFloat(double value) : bits_(encode(value)) {}
  static NarrowFloat from_bits(Bits bits) {
    NarrowFloat made;
    made.bits_ = bits;
    return made;
  }

  Bits bits() const { return bits_; }
  bool is_nan() const {
    const auto magnitude = static_cast<Bits>(bits_ & (sign_bit - 1U));
    return infinities ? magnitude > infinity_bits : magnitude == nan_bits;
  }
  explicit operator double() const {
    const unsigned magnitude = bits_ & (sign_bit - 1U);
    if (is_nan()) return std::numeric_limits<double>::quiet_NaN();
    double value;
    if (infinities && magnitude == infinity_bits) {
      value = std::numeric_limits<double>::infinity();
    } else {
      const int exponent = static_cast<int>(magnitude >> fraction_bits);
      const unsigned fraction = magnitude & ((1U << fraction_bits) - 1U);
      const unsigned whole = exponent == 0 ? fraction : fraction | (1U << fraction_bits);
      value = std::ldexp(static_cast<double>(whole), std::max(exponent, 1) - bias - fraction_bits);
    }
    return (bits_ & sign_bit) != 0 ? -value : value;
  }
  // Of numbers; NaN is equal to itself, since all are one.
  friend bool operator==(const NarrowFloat&, const NarrowFloat&) = default;

 private:
  static Bits encode(double value) {
    if (std::isnan(value)) return nan_bits;
    const Bits sign = std::signbit(value) ? sign_bit : 0;
    const double size = std::abs(value);
    if (std::isinf(value)) return infinities ? sign | infinity_bits : nan_bits;
    const int exponent = size == 0 ? 1 - bias : std::max(std::ilogb(size), 1 - bias);
    // In units of the last place; one more binade where rounding carries.
    const auto whole = static_cast<std::uint64_t>(std::nearbyint(std::ldexp(size, fraction_bits - exponent)));
    const std::uint64_t magnitude = whole + (static_cast<std::uint64_t>(exponent + bias - 1) << fraction_bits);
    if (magnitude >= overflow_bits) return infinities ? sign | infinity_bits : nan_bits;
    return static_cast<Bits>(sign | magnitude);
  }

  Bits bits_ = 0;
};

using Float16 = NarrowFloat<5, 10>;
using BFloat16 = NarrowFloat<8, 7>;
using Float8E4M3 = NarrowFloat<4, 3, false>;
using Float8E5M2 = NarrowFloat<5, 2>;

struct Bool {
  std::uint8_t byte = 0;  // anything but 0 is true
  friend bool operator==(const Bool&, const Bool&) = default;
};

template <class T>
concept Narrow = requires(T value) {
  value.is_nan();
};
template <class T>
concept Complex = std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;
template <class T>
concept Located = requires(T element) {
  element.value;
  element.index;
};

// Calls function(T{}) with the C++ type of `dtype`, or with std::uint8_t for a number that is no type.
template <class Function>
decltype(auto) visit(DataType dtype, Function&& function) {
  switch (dtype) {
    case DataType::float32: return function(float{});
    case DataType::float64: return function(double{});
    case DataType::int32: return function(std::int32_t{});
    case DataType::int64: return function(std::int64_t{});
    case DataType::int8: return function(std::int8_t{});
    case DataType::int16: return function(std::int16_t{});
    case DataType::uint16: return function(std::uint16_t{});
    case DataType::uint32: return function(std::uint32_t{});
    case DataType::uint64: return function(std::uint64_t{});
    case DataType::float16: return function(Float16{});
    case DataType::bfloat16: return function(BFloat16{});
    case DataType::float8_e4m3: return function(Float8E4M3{});
    case DataType::float8_e5m2: return function(Float8E5M2{});
    case DataType::boolean: return function(Bool{});
    case DataType::complex64: return function(std::complex<float>{});
    case DataType::complex128: return function(std::complex<double>{});
    case DataType::float32_int32: return function(hocket_float32_int32{});
    case DataType::float64_int64: return function(hocket_float64_int64{});
    case DataType::int32_int32: return function(hocket_int32_int32{});
    case DataType::int64_int64: return function(hocket_int64_int64{});
    case DataType::uint8:
    case DataType::opaque: break;
  }
  return function(std::uint8_t{});
}

// Whether two elements have equal values; NaN, but for narrow floats, is equal to nothing.
template <class T>
bool same(const T& a, const T& b) {
  if constexpr (Located<T>) {
    return a.value == b.value && a.index == b.index;
  } else {
    return a == b;
  }
}

// A whole number as an element; with a location: the same number.
template <class T>
T whole(int number) {
  if constexpr (Located<T>) {
    return {static_cast<decltype(T::value)>(number), number};
  } else if constexpr (std::same_as<T, Bool>) {
    return {number != 0};
  } else if constexpr (Complex<T>) {
    return T(static_cast<typename T::value_type>(number));
  } else {
    return T(static_cast<std::conditional_t<Narrow<T>, double, T>>(number));
  }
}

template <std::floating_point T>
T canonical(T value) {
  return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
}

template <std::floating_point T>
T reduce(ReduceOp op, T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg:
    case ReduceOp::premultiplied_sum: return canonical(a + b);
    case ReduceOp::prod: return canonical(a * b);
    case ReduceOp::min: return a < b || (a == b && std::signbit(a)) ? a : b;
    case ReduceOp::max: return a > b || (a == b && !std::signbit(a)) ? a : b;
    default: return a;
  }
}

template <Narrow T>
T reduce(ReduceOp op, T a, T b) {
  return T(reduce(op, static_cast<float>(static_cast<double>(a)), static_cast<float>(static_cast<double>(b))));
}

template <std::integral T>
T reduce(ReduceOp op, T a, T b) {
  // Without a sign, so that sums wrap; what is above the type's own bits is cut off again.
  using Bits = std::make_unsigned_t<T>;
  const std::uint64_t x = static_cast<Bits>(a), y = static_cast<Bits>(b);
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg:
    case ReduceOp::premultiplied_sum: return static_cast<T>(x + y);
    case ReduceOp::prod: return static_cast<T>(x * y);
    case ReduceOp::min: return a < b ? a : b;
    case ReduceOp::max: return a > b ? a : b;
    case ReduceOp::band: return static_cast<T>(x & y);
    case ReduceOp::bor: return static_cast<T>(x | y);
    case ReduceOp::bxor: return static_cast<T>(x ^ y);
    case ReduceOp::land: return static_cast<T>(a != 0 && b != 0 ? 1 : 0);
    case ReduceOp::lor: return static_cast<T>(a != 0 || b != 0 ? 1 : 0);
    default: return a;
  }
}

inline Bool reduce(ReduceOp op, Bool a, Bool b) {
  const bool x = a.byte != 0, y = b.byte != 0;
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::max:
    case ReduceOp::bor:
    case ReduceOp::lor: return {x || y};
    case ReduceOp::bxor: return {x != y};
    default: return {x && y};
  }
}

template <Complex T>
T reduce(ReduceOp op, T a, T b) {
  if (op != ReduceOp::prod) return {canonical(a.real() + b.real()), canonical(a.imag() + b.imag())};
  return {canonical(a.real() * b.real() - a.imag() * b.imag()), canonical(a.imag() * b.real() + a.real() * b.imag())};
}

// NaN before all numbers, then by value (-0 below +0), then by index.
template <Located T>
T reduce(ReduceOp op, T a, T b) {
  const auto before = [op](auto x, auto y) {
    if constexpr (std::floating_point<decltype(x)>) {
      if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && !std::isnan(y);
      if (x == y) return std::signbit(op == ReduceOp::minloc ? x : y) && !std::signbit(op == ReduceOp::minloc ? y : x);
    }
    return op == ReduceOp::minloc ? x < y : x > y;
  };
  T best = before(a.value, b.value) || (!before(b.value, a.value) && a.index < b.index) ? a : b;
  if constexpr (std::floating_point<decltype(best.value)>) best.value = canonical(best.value);
  return best;
}

// How an average ends: integers toward zero.
template <class T>
T divide(T sum, std::uint32_t divisor) {
  if constexpr (std::floating_point<T>) {
    return canonical(sum / static_cast<T>(divisor));
  } else if constexpr (Narrow<T>) {
    return T(static_cast<float>(static_cast<double>(sum)) / static_cast<float>(divisor));
  } else if constexpr (Complex<T>) {
    return {divide(sum.real(), divisor), divide(sum.imag(), divisor)};
  } else {
    using Wide = std::conditional_t<std::signed_integral<T>, std::int64_t, std::uint64_t>;
    return static_cast<T>(static_cast<Wide>(sum) / static_cast<Wide>(divisor));
  }
}

}  // namespace hocket::elements
