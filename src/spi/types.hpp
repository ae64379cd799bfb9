// The small vocabulary that every floor shares: formats on the wire and deadlines; with collectives.hpp and
// elements.hpp the tables of collectives, element types and reductions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <type_traits>

#include "src/spi/collectives.hpp"
#include "src/spi/elements.hpp"

namespace hocket {

// How floats travel, see hocket_wire.
enum class WireFormat : std::uint8_t {
  exact = HOCKET_WIRE_EXACT,
  bfloat16 = HOCKET_WIRE_BFLOAT16,
  int8_blocks = HOCKET_WIRE_INT8_BLOCKS,
};
inline constexpr WireFormat all_wire_formats[] = {WireFormat::exact, WireFormat::bfloat16, WireFormat::int8_blocks};

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

// Whether the reduction has a meaning for the collective, whatever the type.
constexpr bool is_defined(CollectiveRef collective, ReduceOp op) {
  return !collective->is_prefix() || info_of(op).has_prefixes;
}

// Whether the elements of such a call may travel in lower precision.
constexpr bool has_wire_formats(CollectiveRef collective, DataType dtype, ReduceOp op) {
  return collective->wire_formats && info_of(dtype).wire_formats &&
         (!collective->reduces() || info_of(op).wire_formats);
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
