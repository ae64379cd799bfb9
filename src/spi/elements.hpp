// Element types and reductions, and which may be combined. All that the kernels, which compile slowly, need to know.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

#include "hocket/types.h"

namespace hocket {

enum class DataType : std::uint8_t {
  float32 = HOCKET_FLOAT32,
  float64 = HOCKET_FLOAT64,
  int32 = HOCKET_INT32,
  int64 = HOCKET_INT64,
  uint8 = HOCKET_UINT8,
  int8 = HOCKET_INT8,
  int16 = HOCKET_INT16,
  uint16 = HOCKET_UINT16,
  uint32 = HOCKET_UINT32,
  uint64 = HOCKET_UINT64,
  float16 = HOCKET_FLOAT16,
  bfloat16 = HOCKET_BFLOAT16,
  float8_e4m3 = HOCKET_FLOAT8_E4M3,
  float8_e5m2 = HOCKET_FLOAT8_E5M2,
  boolean = HOCKET_BOOL,
  complex64 = HOCKET_COMPLEX64,
  complex128 = HOCKET_COMPLEX128,
  float32_int32 = HOCKET_FLOAT32_INT32,
  float64_int64 = HOCKET_FLOAT64_INT64,
  int32_int32 = HOCKET_INT32_INT32,
  int64_int64 = HOCKET_INT64_INT64,
};

enum class ReduceOp : std::uint8_t {
  sum = HOCKET_SUM,
  prod = HOCKET_PROD,
  min = HOCKET_MIN,
  max = HOCKET_MAX,
  avg = HOCKET_AVG,
  premultiplied_sum = HOCKET_PREMULTIPLIED_SUM,
  band = HOCKET_BAND,
  bor = HOCKET_BOR,
  bxor = HOCKET_BXOR,
  land = HOCKET_LAND,
  lor = HOCKET_LOR,
  minloc = HOCKET_MINLOC,
  maxloc = HOCKET_MAXLOC,
  user = HOCKET_USER,
};

// What the elements of a type are, which decides what may be done to them.
enum class Kind : std::uint8_t { integer, boolean, floating, narrow_float, complex, located };

struct DataTypeInfo {
  DataType dtype;
  std::string_view name;
  std::size_t bytes;
  Kind kind;
};

// All there is to know of each type, by its number.
inline constexpr DataTypeInfo data_type_table[] = {
    {DataType::float32, "float32", 4, Kind::floating},
    {DataType::float64, "float64", 8, Kind::floating},
    {DataType::int32, "int32", 4, Kind::integer},
    {DataType::int64, "int64", 8, Kind::integer},
    {DataType::uint8, "uint8", 1, Kind::integer},
    {DataType::int8, "int8", 1, Kind::integer},
    {DataType::int16, "int16", 2, Kind::integer},
    {DataType::uint16, "uint16", 2, Kind::integer},
    {DataType::uint32, "uint32", 4, Kind::integer},
    {DataType::uint64, "uint64", 8, Kind::integer},
    {DataType::float16, "float16", 2, Kind::narrow_float},
    {DataType::bfloat16, "bfloat16", 2, Kind::narrow_float},
    {DataType::float8_e4m3, "float8_e4m3", 1, Kind::narrow_float},
    {DataType::float8_e5m2, "float8_e5m2", 1, Kind::narrow_float},
    {DataType::boolean, "bool", 1, Kind::boolean},
    {DataType::complex64, "complex64", 8, Kind::complex},
    {DataType::complex128, "complex128", 16, Kind::complex},
    {DataType::float32_int32, "float32_int32", 8, Kind::located},
    {DataType::float64_int64, "float64_int64", 16, Kind::located},
    {DataType::int32_int32, "int32_int32", 8, Kind::located},
    {DataType::int64_int64, "int64_int64", 16, Kind::located},
};
inline constexpr std::size_t data_types = std::size(data_type_table);

// Null for a number that is no type.
constexpr const DataTypeInfo* info_of(DataType dtype) {
  const auto number = static_cast<std::size_t>(dtype);
  return number < data_types ? &data_type_table[number] : nullptr;
}

inline constexpr auto all_data_types = [] {
  std::array<DataType, data_types> all{};
  for (std::size_t i = 0; i < data_types; ++i) all[i] = data_type_table[i].dtype;
  return all;
}();

// Bytes of one element; 0 for a number that is no type.
constexpr std::size_t size_of(DataType dtype) {
  return info_of(dtype) == nullptr ? 0 : info_of(dtype)->bytes;
}

constexpr std::string_view name_of(DataType dtype) {
  return info_of(dtype) == nullptr ? "unknown dtype" : info_of(dtype)->name;
}

inline constexpr auto all_reduce_ops =
    std::to_array({ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max, ReduceOp::avg,
                   ReduceOp::premultiplied_sum, ReduceOp::band, ReduceOp::bor, ReduceOp::bxor, ReduceOp::land,
                   ReduceOp::lor, ReduceOp::minloc, ReduceOp::maxloc, ReduceOp::user});
// Those that need no function of the caller's.
inline constexpr std::span<const ReduceOp> built_in_reduce_ops(all_reduce_ops.data(), all_reduce_ops.size() - 1);

constexpr std::string_view name_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return "sum";
    case ReduceOp::prod: return "prod";
    case ReduceOp::min: return "min";
    case ReduceOp::max: return "max";
    case ReduceOp::avg: return "avg";
    case ReduceOp::premultiplied_sum: return "premultiplied_sum";
    case ReduceOp::band: return "band";
    case ReduceOp::bor: return "bor";
    case ReduceOp::bxor: return "bxor";
    case ReduceOp::land: return "land";
    case ReduceOp::lor: return "lor";
    case ReduceOp::minloc: return "minloc";
    case ReduceOp::maxloc: return "maxloc";
    case ReduceOp::user: return "user";
  }
  return "unknown op";
}

// Whether elements of this type can be reduced so: the table in docs/reference/types-and-reductions.md.
constexpr bool is_defined(DataType dtype, ReduceOp op) {
  const DataTypeInfo* info = info_of(dtype);
  if (info == nullptr) return false;
  const Kind kind = info->kind;
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::prod: return kind != Kind::located;
    case ReduceOp::min:
    case ReduceOp::max: return kind != Kind::located && kind != Kind::complex;
    case ReduceOp::avg:
    case ReduceOp::premultiplied_sum: return kind != Kind::located && kind != Kind::boolean;
    case ReduceOp::band:
    case ReduceOp::bor:
    case ReduceOp::bxor:
    case ReduceOp::land:
    case ReduceOp::lor: return kind == Kind::integer || kind == Kind::boolean;
    case ReduceOp::minloc:
    case ReduceOp::maxloc: return kind == Kind::located;
    case ReduceOp::user: return true;
  }
  return false;
}

}  // namespace hocket
