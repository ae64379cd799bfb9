// The small vocabulary that every layer shares: formats on the wire and deadlines; with collectives.hpp and
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
#include "src/spi/numbered_rows.hpp"

namespace hocket {

// How floats travel, see hocket_wire.
enum class WireFormat : std::uint8_t {
  exact = HOCKET_WIRE_EXACT,
  bfloat16 = HOCKET_WIRE_BFLOAT16,
  int8_blocks = HOCKET_WIRE_INT8_BLOCKS,
};

inline constexpr std::size_t wire_block_elements = 64;  // elements that are encoded together

// All that the library knows of a wire format, but for its codec.
struct WireFormatInfo {
  WireFormat wire{};
  std::string_view name;
  std::size_t element_bytes = 0;  // of one encoded float32,
  std::size_t block_bytes = 0;    // and for each block beside its elements
  // The errors of what was rounded once, and of sums of these that were rounded again, are at most these parts of the
  // largest magnitude (docs/reference/lower-precision.md).
  double rounded_once = 0, rounded_twice = 0;
};

// By number.
inline constexpr WireFormatInfo wire_format_table[] = {
    {.wire = WireFormat::exact, .name = "exact", .element_bytes = 4},
    {.wire = WireFormat::bfloat16,
     .name = "bfloat16",
     .element_bytes = 2,
     .rounded_once = 1.0 / 256,
     .rounded_twice = 1.0 / 127},
    {.wire = WireFormat::int8_blocks,
     .name = "int8",
     .element_bytes = 1,
     .block_bytes = 4,
     .rounded_once = 1.0 / 253,
     .rounded_twice = 1.0 / 126},
};
static_assert(table::numbers_are_places(wire_format_table, &WireFormatInfo::wire));
inline constexpr WireFormatInfo unknown_wire_format{.wire = WireFormat{255}, .name = "unknown wire format"};
inline constexpr std::size_t wire_formats = std::size(wire_format_table);

constexpr bool is_known(WireFormat wire) {
  return table::has(wire_format_table, wire);
}
// unknown_wire_format for a number that is none.
constexpr const WireFormatInfo& info_of(WireFormat wire) {
  return table::row_of(wire_format_table, wire, unknown_wire_format);
}
constexpr std::string_view name_of(WireFormat wire) {
  return info_of(wire).name;
}

inline constexpr auto all_wire_formats = table::numbers_of<wire_format_table, &WireFormatInfo::wire>();

// Bytes of `elements` float32 in a wire format.
constexpr std::size_t encoded_bytes(WireFormat wire, std::size_t elements) {
  const WireFormatInfo& info = info_of(wire);
  return info.element_bytes * elements +
         info.block_bytes * ((elements + wire_block_elements - 1) / wire_block_elements);
}

// Whether the reduction has a meaning for the collective, whatever the type.
constexpr bool is_defined(CollectiveRef collective, ReduceOp op) {
  return !collective->is_prefix() || info_of(op).instead_of_prefix.empty();
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

// What is asked for beyond this has no practical end.
inline constexpr std::chrono::milliseconds longest_timeout = std::chrono::hours(365 * 24);

// A number of milliseconds that comes from outside, however large, so that it can be added to others and to any time.
constexpr std::chrono::milliseconds timeout_of(std::int64_t milliseconds) {
  return std::chrono::milliseconds(milliseconds < longest_timeout.count() ? milliseconds : longest_timeout.count());
}

// A point in time after which a wait gives up. Every wait in Hocket takes one.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Deadline(Clock::time_point at) : at_(at) {}
  static Deadline never() { return Deadline(Clock::time_point::max()); }
  static Deadline after(std::chrono::nanoseconds span) { return Deadline(Clock::now()).later(span); }

  Clock::time_point at() const { return at_; }
  // Never, where that is beyond the end of time. Requires that `span` is not negative.
  Deadline later(std::chrono::nanoseconds span) const {
    return at_ < Clock::time_point::max() - span ? Deadline(at_ + span) : never();
  }
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
