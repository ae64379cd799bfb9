// Element types and reductions, and which may be combined. All that the kernels, which compile slowly, need to know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "hocket/types.h"
#include "src/spi/numbered_rows.hpp"

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
  opaque = HOCKET_OPAQUE,
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
enum class Kind : std::uint8_t { integer, boolean, floating, narrow_float, complex, located, opaque };

class Kinds {
 public:
  template <class... Some>
  constexpr explicit Kinds(Some... kinds) : bits_((0U | ... | bit(kinds))) {}
  constexpr bool hold(Kind kind) const { return (bits_ & bit(kind)) != 0; }

 private:
  static constexpr unsigned bit(Kind kind) { return 1U << static_cast<unsigned>(kind); }

  unsigned bits_;
};

// All that the library knows of a type, but for its kernels.
struct DataTypeInfo {
  DataType dtype{};
  std::string_view name;
  std::size_t bytes = 0;  // of one element; 0: each call says
  Kind kind = Kind::integer;
  bool wire_formats = false;  // it may travel in lower precision
};
constexpr bool has_size(const DataTypeInfo& row) {
  return row.bytes != 0;
}

// By number.
inline constexpr DataTypeInfo data_type_table[] = {
    {DataType::float32, "float32", 4, Kind::floating, true},
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
    {DataType::opaque, "opaque", 0, Kind::opaque},
};
static_assert(table::numbers_are_places(data_type_table, &DataTypeInfo::dtype));
inline constexpr DataTypeInfo unknown_data_type{.dtype = DataType{255}, .name = "unknown dtype"};
inline constexpr std::size_t data_types = std::size(data_type_table);

constexpr bool is_known(DataType dtype) {
  return table::has(data_type_table, dtype);
}
// unknown_data_type for a number that is none.
constexpr const DataTypeInfo& info_of(DataType dtype) {
  return table::row_of(data_type_table, dtype, unknown_data_type);
}

// Those whose elements the library knows: all but the opaque ones.
inline constexpr auto all_data_types = table::numbers_of<data_type_table, &DataTypeInfo::dtype, has_size>();

// Bytes of one element; 0 for a number that is no type, and for opaque elements.
constexpr std::size_t size_of(DataType dtype) {
  return info_of(dtype).bytes;
}
// The same, where opaque elements have `opaque_bytes`.
constexpr std::size_t size_of(DataType dtype, std::size_t opaque_bytes) {
  return dtype == DataType::opaque ? opaque_bytes : size_of(dtype);
}
inline constexpr std::size_t element_bytes_max = HOCKET_ELEMENT_BYTES_MAX;

constexpr std::string_view name_of(DataType dtype) {
  return info_of(dtype).name;
}

// What a reduction takes from the call's options.
enum class Takes : std::uint8_t { nothing, scalar, function };

// All that the library knows of a reduction, but for its kernels.
struct ReduceOpInfo {
  ReduceOp op{};
  std::string_view name;
  Kinds kinds{};  // of the types for which it is defined: the table in docs/reference/types-and-reductions.md
  Takes takes = Takes::nothing;
  ReduceOp combines_as = op;             // what combines two operands
  bool divides = false;                  // the result, by the number of ranks
  std::string_view instead_of_prefix{};  // what to do where scan and exscan have no meaning; empty where they have one
  bool wire_formats = false;             // operands may travel in lower precision
  bool rounds = false;                   // what it makes of two floats may be none
};
constexpr bool is_built_in(const ReduceOpInfo& row) {
  return row.takes != Takes::function;
}

namespace table {
inline constexpr Kinds whole_numbers(Kind::integer, Kind::boolean);
inline constexpr Kinds ordered(Kind::integer, Kind::boolean, Kind::floating, Kind::narrow_float);
inline constexpr Kinds numbers(Kind::integer, Kind::floating, Kind::narrow_float, Kind::complex);
inline constexpr Kinds numbers_and_bools(Kind::integer, Kind::boolean, Kind::floating, Kind::narrow_float,
                                         Kind::complex);
inline constexpr Kinds located(Kind::located);
inline constexpr Kinds all(Kind::integer, Kind::boolean, Kind::floating, Kind::narrow_float, Kind::complex,
                           Kind::located, Kind::opaque);
}  // namespace table

// By number.
inline constexpr ReduceOpInfo reduce_op_table[] = {
    {.op = ReduceOp::sum, .name = "sum", .kinds = table::numbers_and_bools, .wire_formats = true, .rounds = true},
    {.op = ReduceOp::prod, .name = "prod", .kinds = table::numbers_and_bools, .rounds = true},
    {.op = ReduceOp::min, .name = "min", .kinds = table::ordered},
    {.op = ReduceOp::max, .name = "max", .kinds = table::ordered},
    {.op = ReduceOp::avg,
     .name = "avg",
     .kinds = table::numbers,
     .combines_as = ReduceOp::sum,
     .divides = true,
     .instead_of_prefix = "ask for sum, and divide what each rank gets by the number that belongs to it"},
    {.op = ReduceOp::premultiplied_sum,
     .name = "premultiplied_sum",
     .kinds = table::numbers,
     .takes = Takes::scalar,
     .combines_as = ReduceOp::sum},
    {.op = ReduceOp::band, .name = "band", .kinds = table::whole_numbers},
    {.op = ReduceOp::bor, .name = "bor", .kinds = table::whole_numbers},
    {.op = ReduceOp::bxor, .name = "bxor", .kinds = table::whole_numbers},
    {.op = ReduceOp::land, .name = "land", .kinds = table::whole_numbers},
    {.op = ReduceOp::lor, .name = "lor", .kinds = table::whole_numbers},
    {.op = ReduceOp::minloc, .name = "minloc", .kinds = table::located},
    {.op = ReduceOp::maxloc, .name = "maxloc", .kinds = table::located},
    {.op = ReduceOp::user, .name = "user", .kinds = table::all, .takes = Takes::function},
};
static_assert(table::numbers_are_places(reduce_op_table, &ReduceOpInfo::op));
inline constexpr ReduceOpInfo unknown_reduce_op{.op = ReduceOp{255}, .name = "unknown op"};
inline constexpr std::size_t reduce_ops = std::size(reduce_op_table);

constexpr bool is_known(ReduceOp op) {
  return table::has(reduce_op_table, op);
}
// unknown_reduce_op for a number that is none.
constexpr const ReduceOpInfo& info_of(ReduceOp op) {
  return table::row_of(reduce_op_table, op, unknown_reduce_op);
}

// Those that need no function of the caller's.
inline constexpr auto built_in_reduce_ops = table::numbers_of<reduce_op_table, &ReduceOpInfo::op, is_built_in>();

constexpr std::string_view name_of(ReduceOp op) {
  return info_of(op).name;
}

// Whether results depend on how often they are rounded to the type, because that is narrower than what computes them.
constexpr bool is_rounded_in_sums(DataType dtype, ReduceOp op) {
  return info_of(dtype).kind == Kind::narrow_float && info_of(info_of(op).combines_as).rounds;
}

// Whether elements of this type can be reduced so.
constexpr bool is_defined(DataType dtype, ReduceOp op) {
  return is_known(dtype) && info_of(op).kinds.hold(info_of(dtype).kind);
}

}  // namespace hocket
