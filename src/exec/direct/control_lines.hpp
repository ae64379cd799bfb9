// What the control lines of a window hold while direct operations run on it; staging areas: staging.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/plan/direct/stages.hpp"
#include "src/plan/direct/staging.hpp"
#include "src/spi/window.hpp"

namespace hocket::direct {

// Lines of each member. Announcements follow each other, so that who runs ahead and who is behind stream through them.
inline constexpr std::size_t announcement_line(std::uint64_t turn) {
  return turn % announcements;
}
inline constexpr std::size_t second_line(std::uint64_t turn) {  // of an announcement that needs one
  return announcements + turn % second_lines;
}
inline constexpr std::size_t progress_line = announcements + second_lines;  // a word for each Stage, see progress.hpp
inline constexpr std::size_t life_line = progress_line + 2;                 // see LifeLines
inline constexpr std::size_t claim_line = progress_line + 4;                // member 0's: the next part to be taken
inline constexpr std::size_t finished_line = progress_line + 5;             // member 0's: how many parts are done
inline constexpr std::size_t word_line = finished_line + 1;     // words that streams of a GPU write, see GpuWindow
inline constexpr std::size_t export_line = word_line + 1;       // and where the data lies there, by turn
inline constexpr std::size_t lines_of_export = 3, exports = 2;  // everyone has left the turn before last
inline constexpr std::size_t lines_of_exports(std::uint64_t turn) {
  return export_line + turn % exports * lines_of_export;
}
inline constexpr std::size_t reach_line = export_line + exports * lines_of_export;  // which GPUs the own one reaches
inline constexpr std::size_t reach_lines = 2;
static_assert(reach_line + reach_lines <= Window::lines_per_member);

// In place of an announcement's turn: the member has given up, and a member that has not read the announcement yet must
// not.
inline constexpr std::uint64_t withdrawn = UINT64_MAX;

}  // namespace hocket::direct
