// The small vocabulary that every floor shares: ranks, element types, reductions, collectives, deadlines.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

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
};

enum class ReduceOp : std::uint8_t { sum = HOCKET_SUM, prod = HOCKET_PROD, min = HOCKET_MIN, max = HOCKET_MAX };

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

inline constexpr DataType all_data_types[] = {DataType::float32, DataType::float64, DataType::int32, DataType::int64,
                                              DataType::uint8};
inline constexpr ReduceOp all_reduce_ops[] = {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max};
inline constexpr Collective all_collectives[] = {
    Collective::allreduce, Collective::reduce, Collective::reduce_scatter, Collective::allgather, Collective::broadcast,
    Collective::scatter,   Collective::gather, Collective::alltoall,       Collective::barrier,   Collective::send,
    Collective::recv};

constexpr std::size_t size_of(DataType dtype) {
  switch (dtype) {
    case DataType::float32:
    case DataType::int32: return 4;
    case DataType::float64:
    case DataType::int64: return 8;
    case DataType::uint8: return 1;
  }
  return 0;
}

constexpr std::string_view name_of(DataType dtype) {
  switch (dtype) {
    case DataType::float32: return "float32";
    case DataType::float64: return "float64";
    case DataType::int32: return "int32";
    case DataType::int64: return "int64";
    case DataType::uint8: return "uint8";
  }
  return "unknown dtype";
}

constexpr std::string_view name_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return "sum";
    case ReduceOp::prod: return "prod";
    case ReduceOp::min: return "min";
    case ReduceOp::max: return "max";
  }
  return "unknown op";
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
template <class Enum, std::size_t size>
constexpr std::optional<Enum> find_by_name(const Enum (&table)[size], std::string_view name) {
  for (Enum entry : table) {
    if (name_of(entry) == name) return entry;
  }
  return std::nullopt;
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
