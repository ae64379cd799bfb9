// The element types as the kernels see them, and what combining two elements means: as in src/base/elements.hpp, in the
// C++17 that CUDA's older compilers take, for the device and, so that it can be tested without one, for the host.
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "hocket/types.h"

#ifdef __CUDACC__
#define HOCKET_BOTH __host__ __device__ inline
#else
#define HOCKET_BOTH inline
#endif

namespace hocket::cuda {

// Numbered as the reductions of the C API. An average is a sum that is divided in the end.
enum class Combine : int {
  sum = HOCKET_SUM,
  prod = HOCKET_PROD,
  min = HOCKET_MIN,
  max = HOCKET_MAX,
  band = HOCKET_BAND,
  bor = HOCKET_BOR,
  bxor = HOCKET_BXOR,
  land = HOCKET_LAND,
  lor = HOCKET_LOR,
  minloc = HOCKET_MINLOC,
  maxloc = HOCKET_MAXLOC,
};

template <class To, class From>
HOCKET_BOTH To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

// ---- floats. A GPU makes other NaNs than a CPU, so each is replaced by the same one.

HOCKET_BOTH float canonical(float value) {
  return value != value ? bits_as<float>(UINT32_C(0x7FC00000)) : value;
}
HOCKET_BOTH double canonical(double value) {
  return value != value ? bits_as<double>(UINT64_C(0x7FF8000000000000)) : value;
}
HOCKET_BOTH bool is_negative(float value) {
  return (bits_as<uint32_t>(value) >> 31) != 0;
}
HOCKET_BOTH bool is_negative(double value) {
  return (bits_as<uint64_t>(value) >> 63) != 0;
}

template <class T>
HOCKET_BOTH bool is_nan(T value) {
  return value != value;  // NOLINT(misc-redundant-expression): a kernel has no std::isnan
}

template <Combine op, class T>
HOCKET_BOTH T combine_floats(T a, T b) {
  if (is_nan(a) || is_nan(b)) return canonical(is_nan(a) ? a : b);
  if constexpr (op == Combine::sum) return canonical(a + b);
  if constexpr (op == Combine::prod) return canonical(a * b);
  if constexpr (op == Combine::min) return a < b || (a == b && is_negative(a)) ? a : b;
  return a > b || (a == b && !is_negative(a)) ? a : b;
}

// What each family below has: `Stored`, as in memory; `Wide`, as in registers; and how to go from one to the other, how
// to combine two, and how an average ends.
template <class T>
struct Floating {
  using Stored = T;
  using Wide = T;
  static HOCKET_BOTH Wide load(Stored stored) { return stored; }
  static HOCKET_BOTH Stored store(Wide wide) { return wide; }
  template <Combine op>
  static HOCKET_BOTH Wide combine(Wide a, Wide b) {
    return combine_floats<op>(a, b);
  }
  static HOCKET_BOTH Wide divide(Wide sum, uint32_t divisor) { return canonical(sum / static_cast<T>(divisor)); }
};

// A float of `exponent_bits` and `fraction_bits` and a sign; without infinities its largest bits are NaN. It is
// combined as float32 and rounded to the nearest, ties to even, with integer instructions alone, as on a CPU.
template <class Bits, int exponent_bits, int fraction_bits, bool infinities>
struct NarrowFloat {
  using Stored = Bits;
  using Wide = float;

  static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  static constexpr int shift = 23 - fraction_bits;
  static constexpr int sign_shift = 31 - exponent_bits - fraction_bits;
  static constexpr uint32_t exponent_gap = static_cast<uint32_t>(127 - bias) << 23;
  static constexpr uint32_t magnitude_mask = (UINT32_C(1) << (exponent_bits + fraction_bits)) - 1;
  static constexpr uint32_t infinity = ((UINT32_C(1) << exponent_bits) - 1) << fraction_bits;
  static constexpr uint32_t nan = infinities ? infinity | (UINT32_C(1) << (fraction_bits - 1)) : magnitude_mask;
  static HOCKET_BOTH float power_of_two(int exponent) {
    return bits_as<float>(static_cast<uint32_t>(exponent + 127) << 23);
  }

  static HOCKET_BOTH Wide load(Stored stored) {
    const uint32_t bits = stored;
    if constexpr (exponent_bits == 8) return bits_as<float>(bits << 16);
    const uint32_t magnitude = bits & magnitude_mask;
    const uint32_t sign = (bits ^ magnitude) << sign_shift;
    uint32_t wide = (magnitude << shift) + exponent_gap;
    if (magnitude < (UINT32_C(1) << fraction_bits)) {  // a whole multiple of the smallest number
      wide = bits_as<uint32_t>(static_cast<float>(magnitude) * power_of_two(1 - bias - fraction_bits));
    }
    if (magnitude >= (infinities ? infinity : nan)) wide |= UINT32_C(0x7F800000);
    return bits_as<float>(wide | sign);
  }

  static HOCKET_BOTH Stored store(Wide wide) {
    if (wide != wide) return static_cast<Stored>(nan);
    const uint32_t bits = bits_as<uint32_t>(wide);
    const uint32_t size = bits & UINT32_C(0x7FFFFFFF);
    const uint32_t sign = (bits ^ size) >> sign_shift;
    uint32_t rounded = (size + ((size >> shift) & 1) + ((UINT32_C(1) << (shift - 1)) - 1)) >> shift;
    if constexpr (exponent_bits < 8) {
      rounded -= exponent_gap >> shift;
      if (size < bits_as<uint32_t>(power_of_two(1 - bias))) {
        // Adding a number whose last place is the smallest subnormal number lets the processor round to that.
        const float anchor = power_of_two(24 - bias - fraction_bits);
        rounded = bits_as<uint32_t>(bits_as<float>(size) + anchor) - bits_as<uint32_t>(anchor);
      }
      const uint32_t limit = infinities ? infinity : nan;
      if (rounded > limit) rounded = limit;
    }
    return static_cast<Stored>(!infinities && rounded == nan ? nan : rounded | sign);
  }

  template <Combine op>
  static HOCKET_BOTH Wide combine(Wide a, Wide b) {
    return combine_floats<op>(a, b);
  }
  static HOCKET_BOTH Wide divide(Wide sum, uint32_t divisor) { return canonical(sum / static_cast<float>(divisor)); }
};

template <class T>
struct ComplexNumber {
  T real, imaginary;
};

template <class T>
struct Complex {
  using Stored = ComplexNumber<T>;
  using Wide = Stored;
  static HOCKET_BOTH Wide load(Stored stored) { return stored; }
  static HOCKET_BOTH Stored store(Wide wide) { return wide; }
  template <Combine op>
  static HOCKET_BOTH Wide combine(Wide a, Wide b) {
    if constexpr (op == Combine::sum) return {canonical(a.real + b.real), canonical(a.imaginary + b.imaginary)};
    return {canonical(a.real * b.real - a.imaginary * b.imaginary),
            canonical(a.imaginary * b.real + a.real * b.imaginary)};
  }
  static HOCKET_BOTH Wide divide(Wide sum, uint32_t divisor) {
    return {canonical(sum.real / static_cast<T>(divisor)), canonical(sum.imaginary / static_cast<T>(divisor))};
  }
};

// ---- whole numbers. `Unsigned` has the type's width: sums wrap.

template <class T, class Unsigned>
struct Integer {
  using Stored = T;
  using Wide = T;
  static HOCKET_BOTH Wide load(Stored stored) { return stored; }
  static HOCKET_BOTH Stored store(Wide wide) { return wide; }
  template <Combine op>
  static HOCKET_BOTH Wide combine(Wide a, Wide b) {
    const uint64_t x = static_cast<Unsigned>(a), y = static_cast<Unsigned>(b);
    if constexpr (op == Combine::sum) return static_cast<T>(x + y);
    if constexpr (op == Combine::prod) return static_cast<T>(x * y);
    if constexpr (op == Combine::min) return a < b ? a : b;
    if constexpr (op == Combine::max) return a > b ? a : b;
    if constexpr (op == Combine::band) return static_cast<T>(x & y);
    if constexpr (op == Combine::bor) return static_cast<T>(x | y);
    if constexpr (op == Combine::bxor) return static_cast<T>(x ^ y);
    if constexpr (op == Combine::land) return static_cast<T>(a != 0 && b != 0);
    return static_cast<T>(a != 0 || b != 0);
  }
  static HOCKET_BOTH Wide divide(Wide sum, uint32_t divisor) {
    if constexpr (static_cast<T>(-1) < T(0)) return static_cast<T>(static_cast<int64_t>(sum) / int64_t{divisor});
    return static_cast<T>(static_cast<uint64_t>(sum) / divisor);
  }
};

// Any byte but 0 is true.
struct Bool {
  using Stored = uint8_t;
  using Wide = uint8_t;
  static HOCKET_BOTH Wide load(Stored stored) { return stored; }
  static HOCKET_BOTH Stored store(Wide wide) { return wide; }
  template <Combine op>
  static HOCKET_BOTH Wide combine(Wide a, Wide b) {
    const bool x = a != 0, y = b != 0;
    if constexpr (op == Combine::bxor) return x != y;
    if constexpr (op == Combine::sum || op == Combine::max || op == Combine::bor || op == Combine::lor) return x || y;
    return x && y;
  }
  static HOCKET_BOTH Wide divide(Wide sum, uint32_t) { return sum; }  // there is no average of bools
};

// ---- values with a location: NaN before all numbers, then by value (-0 below +0), then by index.

template <class T>
struct Located {
  using Stored = T;
  using Wide = T;
  using Value = decltype(T::value);
  static HOCKET_BOTH Wide load(Stored stored) { return stored; }
  static HOCKET_BOTH Stored store(Wide wide) { return wide; }
  template <Combine op>
  static HOCKET_BOTH Wide combine(Wide a, Wide b) {
    Wide best = before<op>(a.value, b.value) || (!before<op>(b.value, a.value) && a.index < b.index) ? a : b;
    if constexpr (is_float) best.value = canonical(best.value);
    return best;
  }
  static HOCKET_BOTH Wide divide(Wide sum, uint32_t) { return sum; }  // nor of these

 private:
  static constexpr bool is_float = static_cast<Value>(0.5) != Value(0);
  template <Combine op>
  static HOCKET_BOTH bool before(Value x, Value y) {
    if constexpr (is_float) {
      if (is_nan(x) || is_nan(y)) return is_nan(x) && !is_nan(y);
      if (x == y) {
        const Value first = op == Combine::minloc ? x : y, second = op == Combine::minloc ? y : x;
        return is_negative(first) && !is_negative(second);
      }
    }
    return op == Combine::minloc ? x < y : x > y;
  }
};

}  // namespace hocket::cuda
