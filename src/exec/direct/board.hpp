// Where things lie on the boards and in the staging areas of a window that direct operations run on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hocket/spi/window.hpp"

namespace hocket::board {

// Lines of a member's board. Processors fetch lines in pairs, so lines that are written at different times lie in
// different pairs.
inline constexpr std::size_t announcements = 64;
// How many operations a member may begin before it has heard that everybody began the first of them. Who announces turn
// t has heard everyone's turn t - run_ahead_max, and everyone had heard its own turn t - 2 * run_ahead_max by then: the
// line that is overwritten.
inline constexpr std::uint64_t run_ahead_max = announcements / 2;
inline constexpr std::size_t announcement_line(std::uint64_t turn) {
  return turn % announcements * 2;
}
inline constexpr std::size_t progress_line = announcements * 2;  // words below, each a stamp (operation and count)
inline constexpr std::size_t life_line = progress_line + 2;      // when the member said last that it waits
inline constexpr std::size_t claim_line = progress_line + 4;     // member 0's: the next part to be taken
inline constexpr std::size_t finished_line = progress_line + 5;  // member 0's: how many parts are done
static_assert(finished_line < Window::lines_per_member);

// In place of an announcement's turn: the member has given up, and whoever has not read the announcement yet must not.
inline constexpr std::uint64_t withdrawn = UINT64_MAX;

// Words of the progress line.
inline constexpr std::size_t own_parts_done = 0;  // mapped, without sharing; pooled, by who leaves early
inline constexpr std::size_t rounds_in = 1;       // staged: copied in
inline constexpr std::size_t rounds_combined = 2;
inline constexpr std::size_t rounds_out = 3;

// A member's staging area: payload slots of one-shot operations (small ones, in which members run ahead, and large
// ones, in which they do not), then the rounds of staged ones.
inline constexpr std::size_t small_slot_bytes = std::size_t{16} << 10;
inline constexpr std::size_t large_slot_bytes = std::size_t{256} << 10;
inline constexpr std::size_t large_slots = 2;
inline constexpr std::size_t payload_bytes = announcements * small_slot_bytes + large_slots * large_slot_bytes;
inline constexpr std::size_t rounds_in_flight = 3;

}  // namespace hocket::board
