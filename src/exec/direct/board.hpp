// Where things lie on the boards and in the staging areas of a window that direct operations run on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hocket::board {

// Lines of a member's board. Processors fetch lines in pairs, so lines that are written at different times lie in
// different pairs.
inline constexpr std::size_t announcements = 2;
inline constexpr std::size_t announcement_line(std::uint64_t turn) {
  return turn % announcements * 2;
}
inline constexpr std::size_t progress_line = 4;  // words below, each a stamp (turn and count)
inline constexpr std::size_t life_line = 6;      // when the member said last that it waits
inline constexpr std::size_t claim_line = 8;     // member 0's: the next part to be taken
inline constexpr std::size_t finished_line = 9;  // member 0's: how many parts are done

// In place of an announcement's turn: the member has given up, and whoever has not read the announcement yet must not.
inline constexpr std::uint64_t withdrawn = UINT64_MAX;

// Words of the progress line.
inline constexpr std::size_t own_parts_done = 0;  // mapped, without sharing; pooled, by who leaves early
inline constexpr std::size_t rounds_in = 1;       // staged: copied in
inline constexpr std::size_t rounds_combined = 2;
inline constexpr std::size_t rounds_out = 3;

// A member's staging area: payload slots of one-shot operations, then the rounds of staged ones.
inline constexpr std::size_t payload_slot_bytes = std::size_t{256} << 10;
inline constexpr std::size_t payload_bytes = announcements * payload_slot_bytes;
inline constexpr std::size_t rounds_in_flight = 3;

}  // namespace hocket::board
