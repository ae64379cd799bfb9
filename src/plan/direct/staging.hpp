// How direct operations use a window: announcements, and where things lie in the staging areas.
#pragma once

#include <cstddef>

namespace hocket::direct {

// Operations whose announcements are kept.
inline constexpr std::size_t announcements = 2048;
// How many operations a member may begin before it has heard that everybody began the first of them. A member that
// announces turn t has heard everyone's turn t - run_ahead_max, and everyone had heard its own turn t - 2 *
// run_ahead_max by then: the line that is overwritten.
inline constexpr std::size_t run_ahead_max = announcements / 2;
// The same of operations that take a second line each, which few do.
inline constexpr std::size_t second_lines = 64;
inline constexpr std::size_t run_ahead_max_with_second_line = second_lines / 2;
inline constexpr std::size_t inline_bytes_max = 32;  // of an input that stands in the announcement itself

// A member's staging area: the payloads of one-shot operations, one behind the other, then the rounds of staged ones.
inline constexpr std::size_t payload_bytes = std::size_t{3} << 19;         // of all payloads that others may still read
inline constexpr std::size_t near_payload_bytes = std::size_t{128} << 10;  // of these, while nobody is far ahead
inline constexpr std::size_t payload_bytes_max = std::size_t{256} << 10;
inline constexpr std::size_t one_way_bytes_max = std::size_t{16} << 10;  // of one with which its sender runs ahead
inline constexpr std::size_t rounds_in_flight = 3;

inline constexpr std::size_t usual_staging_bytes = std::size_t{4} << 20;  // as shared memory has them

}  // namespace hocket::direct
