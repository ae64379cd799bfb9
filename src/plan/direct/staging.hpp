// How direct operations use a window: announcements, and where things lie in the staging areas.
#pragma once

#include <cstddef>

namespace hocket::direct {

// Operations whose announcements are kept, each with a payload slot.
inline constexpr std::size_t announcements = 64;
// How many operations a member may begin before it has heard that everybody began the first of them. A member that
// announces turn t has heard everyone's turn t - run_ahead_max, and everyone had heard its own turn t - 2 *
// run_ahead_max by then: the line that is overwritten.
inline constexpr std::size_t run_ahead_max = announcements / 2;
inline constexpr std::size_t inline_bytes_max = 32;  // of an input that stands in the announcement itself

// A member's staging area: payload slots of one-shot operations (small ones, in which members run ahead, and large
// ones, in which they do not), then the rounds of staged ones.
inline constexpr std::size_t small_slot_bytes = std::size_t{16} << 10;
inline constexpr std::size_t large_slot_bytes = std::size_t{256} << 10;
inline constexpr std::size_t large_slots = 2;
inline constexpr std::size_t payload_bytes = announcements * small_slot_bytes + large_slots * large_slot_bytes;
inline constexpr std::size_t rounds_in_flight = 3;

inline constexpr std::size_t usual_staging_bytes = std::size_t{4} << 20;  // as shared memory has them

}  // namespace hocket::direct
