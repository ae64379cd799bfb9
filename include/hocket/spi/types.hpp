// The small vocabulary that every floor shares: ranks, element types, reductions, collectives, deadlines.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "hocket/hocket.h"

namespace hocket {

using Rank = std::int32_t;  // 0 … world size - 1; -1 where there is none
inline constexpr Rank no_rank = -1;

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

// How floats travel, see hocket_wire.
enum class WireFormat : std::uint8_t {
  exact = HOCKET_WIRE_EXACT,
  bfloat16 = HOCKET_WIRE_BFLOAT16,
  int8_blocks = HOCKET_WIRE_INT8_BLOCKS,
};
inline constexpr WireFormat all_wire_formats[] = {WireFormat::exact, WireFormat::bfloat16, WireFormat::int8_blocks};

enum class Collective : std::uint8_t {
  allreduce,
  reduce,
  reduce_scatter,
  allgather,
  broadcast,
  scatter,
  gather,
  alltoall,
  barrier,
  send,  // point to point: planned and run like the rest, by two ranks
  recv,
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

// Whether elements of this type can be reduced so: the table in docs/REDUCTIONS.md.
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

inline constexpr Collective all_collectives[] = {
    Collective::allreduce, Collective::reduce, Collective::reduce_scatter, Collective::allgather, Collective::broadcast,
    Collective::scatter,   Collective::gather, Collective::alltoall,       Collective::barrier,   Collective::send,
    Collective::recv};

constexpr std::string_view name_of(WireFormat wire) {
  switch (wire) {
    case WireFormat::exact: return "exact";
    case WireFormat::bfloat16: return "bfloat16";
    case WireFormat::int8_blocks: return "int8";
  }
  return "unknown wire format";
}

inline constexpr std::size_t wire_block_elements = 64;  // elements that are encoded together

// Bytes of `elements` float32 in a wire format.
constexpr std::size_t encoded_bytes(WireFormat wire, std::size_t elements) {
  switch (wire) {
    case WireFormat::exact: return 4 * elements;
    case WireFormat::bfloat16: return 2 * elements;
    case WireFormat::int8_blocks: return elements + 4 * ((elements + wire_block_elements - 1) / wire_block_elements);
  }
  return 0;
}

constexpr std::string_view name_of(Collective collective) {
  switch (collective) {
    case Collective::allreduce: return "allreduce";
    case Collective::reduce: return "reduce";
    case Collective::reduce_scatter: return "reduce_scatter";
    case Collective::allgather: return "allgather";
    case Collective::broadcast: return "broadcast";
    case Collective::scatter: return "scatter";
    case Collective::gather: return "gather";
    case Collective::alltoall: return "alltoall";
    case Collective::barrier: return "barrier";
    case Collective::send: return "send";
    case Collective::recv: return "recv";
  }
  return "unknown collective";
}

// Whether the collective combines elements, so that its reduction is part of the call.
constexpr bool reduces(Collective collective) {
  return collective == Collective::allreduce || collective == Collective::reduce ||
         collective == Collective::reduce_scatter;
}

// Whether one rank plays a special part.
constexpr bool has_root(Collective collective) {
  return collective == Collective::reduce || collective == Collective::broadcast || collective == Collective::scatter ||
         collective == Collective::gather;
}

// Looks a name up in one of the all_* tables; nothing where no entry has it.
template <class Table>
constexpr auto find_by_name(const Table& table, std::string_view name) {
  using Enum = std::remove_cvref_t<decltype(*std::begin(table))>;
  for (const Enum entry : table) {
    if (name_of(entry) == name) return std::optional<Enum>(entry);
  }
  return std::optional<Enum>();
}

// A point in time after which a wait gives up. Every wait in Hocket takes one.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(Clock::time_point at) : at_(at) {}
  static Deadline after(std::chrono::nanoseconds span) { return Deadline(Clock::now() + span); }

  Clock::time_point at() const { return at_; }
  bool passed() const { return Clock::now() >= at_; }
  // Never negative.
  std::chrono::nanoseconds remaining() const {
    const auto left = at_ - Clock::now();
    return left.count() > 0 ? std::chrono::nanoseconds(left) : std::chrono::nanoseconds(0);
  }
  // For poll(2) and its like: rounded up, so that a wait does not end just before its deadline.
  int remaining_ms() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(remaining()).count();
    return left > 1'000'000'000 ? 1'000'000'000 : static_cast<int>(left);
  }
  friend Deadline earlier(Deadline a, Deadline b) { return a.at_ < b.at_ ? a : b; }

 private:
  Clock::time_point at_;
};

}  // namespace hocket
