// The small vocabulary that every floor shares: ranks, collectives, formats on the wire, deadlines; with elements.hpp,
// element types and reductions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <type_traits>

#include "src/spi/elements.hpp"

namespace hocket {

using Rank = std::int32_t;  // 0 … world size - 1; -1 where there is none
inline constexpr Rank no_rank = -1;

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
  reduce_scatter_v,  // what follows is planned as its like with equal blocks, see with_equal_blocks()
  allgather_v,
  scatter_v,
  gather_v,
  alltoall_v,
  scan,    // each rank gets the reduction of the ranks up to itself
  exscan,  // each rank gets that of the ranks before it
};

// What schedules are written for.
inline constexpr Collective all_collectives[] = {
    Collective::allreduce, Collective::reduce, Collective::reduce_scatter, Collective::allgather, Collective::broadcast,
    Collective::scatter,   Collective::gather, Collective::alltoall,       Collective::barrier,   Collective::send,
    Collective::recv,      Collective::scan,   Collective::exscan};
// Those with blocks of unequal size.
inline constexpr Collective uneven_collectives[] = {Collective::reduce_scatter_v, Collective::allgather_v,
                                                    Collective::scatter_v, Collective::gather_v,
                                                    Collective::alltoall_v};

// The collective whose schedules a call runs: itself, but for those with unequal blocks. Algorithms know only these.
constexpr Collective with_equal_blocks(Collective collective) {
  switch (collective) {
    case Collective::reduce_scatter_v: return Collective::reduce_scatter;
    case Collective::allgather_v: return Collective::allgather;
    case Collective::scatter_v: return Collective::scatter;
    case Collective::gather_v: return Collective::gather;
    case Collective::alltoall_v: return Collective::alltoall;
    default: return collective;
  }
}

constexpr bool is_uneven(Collective collective) {
  return with_equal_blocks(collective) != collective;
}

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
    case Collective::reduce_scatter_v: return "reduce_scatter_v";
    case Collective::allgather_v: return "allgather_v";
    case Collective::scatter_v: return "scatter_v";
    case Collective::gather_v: return "gather_v";
    case Collective::alltoall_v: return "alltoall_v";
    case Collective::scan: return "scan";
    case Collective::exscan: return "exscan";
  }
  return "unknown collective";
}

// Whether each rank gets a reduction of its own: of the ranks before it, and perhaps of itself.
constexpr bool is_prefix(Collective collective) {
  return collective == Collective::scan || collective == Collective::exscan;
}

// Whether the collective combines elements, so that its reduction is part of the call.
constexpr bool reduces(Collective collective) {
  return collective == Collective::allreduce || collective == Collective::reduce ||
         collective == Collective::reduce_scatter || collective == Collective::reduce_scatter_v ||
         is_prefix(collective);
}

// Whether the reduction has a meaning for the collective, whatever the type: a prefix has no average.
constexpr bool is_defined(Collective collective, ReduceOp op) {
  return op != ReduceOp::avg || !is_prefix(collective);
}

// Whether one rank plays a special part.
constexpr bool has_root(Collective collective) {
  return collective == Collective::reduce || collective == Collective::broadcast || collective == Collective::scatter ||
         collective == Collective::gather || collective == Collective::scatter_v || collective == Collective::gather_v;
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
