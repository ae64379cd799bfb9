/// @file
/// The element types and reductions of types.h in C++.
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "hocket/types.h"

namespace hocket {
inline namespace api {

/// How operands are combined; every name is that of a ::hocket_op.
enum class Op {
  sum = HOCKET_SUM,                              ///< #HOCKET_SUM
  prod = HOCKET_PROD,                            ///< #HOCKET_PROD
  min = HOCKET_MIN,                              ///< #HOCKET_MIN
  max = HOCKET_MAX,                              ///< #HOCKET_MAX
  avg = HOCKET_AVG,                              ///< #HOCKET_AVG
  premultiplied_sum = HOCKET_PREMULTIPLIED_SUM,  ///< #HOCKET_PREMULTIPLIED_SUM
  band = HOCKET_BAND,                            ///< #HOCKET_BAND
  bor = HOCKET_BOR,                              ///< #HOCKET_BOR
  bxor = HOCKET_BXOR,                            ///< #HOCKET_BXOR
  land = HOCKET_LAND,                            ///< #HOCKET_LAND
  lor = HOCKET_LOR,                              ///< #HOCKET_LOR
  minloc = HOCKET_MINLOC,                        ///< #HOCKET_MINLOC
  maxloc = HOCKET_MAXLOC,                        ///< #HOCKET_MAXLOC
  user = HOCKET_USER,                            ///< #HOCKET_USER
};

/// The bits of an IEEE 754 binary16, for which C++20 has no type.
enum class Float16 : std::uint16_t {};
/// The bits of a bfloat16, for which C++20 has no type.
enum class BFloat16 : std::uint16_t {};
/// The bits of an OCP 8-bit float with four bits of exponent.
enum class Float8E4M3 : std::uint8_t {};
/// The bits of an OCP 8-bit float with five bits of exponent.
enum class Float8E5M2 : std::uint8_t {};

/// Whether a struct travels as #HOCKET_OPAQUE elements. Specialise it with true for a trivially copyable type of your
/// own, of at most #HOCKET_ELEMENT_BYTES_MAX bytes; calls then set CallOptions::element_bytes themselves.
template <class T>
inline constexpr bool is_opaque = false;

namespace detail {
inline constexpr int no_dtype = -1;

template <class T>
constexpr int number_of_dtype() {
  constexpr auto is_one_of = []<class... Types>(std::type_identity<Types>...) {
    return (std::same_as<T, Types> || ...);
  };
  if constexpr (is_opaque<T>) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= HOCKET_ELEMENT_BYTES_MAX);
    return HOCKET_OPAQUE;
  }
  if constexpr (std::same_as<T, bool>) return HOCKET_BOOL;
  if constexpr (std::same_as<T, float>) return HOCKET_FLOAT32;
  if constexpr (std::same_as<T, double>) return HOCKET_FLOAT64;
  if constexpr (std::same_as<T, std::complex<float>>) return HOCKET_COMPLEX64;
  if constexpr (std::same_as<T, std::complex<double>>) return HOCKET_COMPLEX128;
  if constexpr (std::same_as<T, Float16>) return HOCKET_FLOAT16;
  if constexpr (std::same_as<T, BFloat16>) return HOCKET_BFLOAT16;
  if constexpr (std::same_as<T, Float8E4M3>) return HOCKET_FLOAT8_E4M3;
  if constexpr (std::same_as<T, Float8E5M2>) return HOCKET_FLOAT8_E5M2;
  if constexpr (std::same_as<T, hocket_float32_int32>) return HOCKET_FLOAT32_INT32;
  if constexpr (std::same_as<T, hocket_float64_int64>) return HOCKET_FLOAT64_INT64;
  if constexpr (std::same_as<T, hocket_int32_int32>) return HOCKET_INT32_INT32;
  if constexpr (std::same_as<T, hocket_int64_int64>) return HOCKET_INT64_INT64;
  if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    if (is_one_of(std::type_identity<char>(), std::type_identity<wchar_t>(), std::type_identity<char8_t>(),
                  std::type_identity<char16_t>(), std::type_identity<char32_t>())) {
      return no_dtype;
    }
    constexpr bool has_sign = std::is_signed_v<T>;
    switch (sizeof(T)) {
      case 1: return has_sign ? HOCKET_INT8 : HOCKET_UINT8;
      case 2: return has_sign ? HOCKET_INT16 : HOCKET_UINT16;
      case 4: return has_sign ? HOCKET_INT32 : HOCKET_UINT32;
      case 8: return has_sign ? HOCKET_INT64 : HOCKET_UINT64;
      default: break;
    }
  }
  return no_dtype;
}
}  // namespace detail

/// The element types that Hocket knows, and structs that are opaque to it.
template <class T>
concept Element = detail::number_of_dtype<T>()
!= detail::no_dtype;

/// The ::hocket_dtype of a C++ type.
template <Element T>
constexpr hocket_dtype dtype_of() {
  return static_cast<hocket_dtype>(detail::number_of_dtype<T>());
}

}  // namespace api
}  // namespace hocket
