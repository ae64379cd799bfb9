// What the members of each direct path wait for: direct operations follow these lists, and the cost model counts them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "src/plan/direct/path.hpp"

namespace hocket {

// How far a member has come in an operation, which it publishes for the others to wait for.
enum class Stage : std::uint8_t {
  parts_done,  // all its own parts
  copied_in,   // so many rounds
  combined,
  copied_out,
};

inline constexpr Stage all_stages[] = {Stage::parts_done, Stage::copied_in, Stage::combined, Stage::copied_out};

// The stages of `path` for which every member waits until every other has come through them, in their order. Before the
// first of them each waits for the announcements, on every path. A member that gives nothing does not wait for the
// last of single copy.
constexpr std::span<const Stage> stages_of(DirectPath path, bool combines) {
  switch (path) {
    case DirectPath::one_shot: return {};
    case DirectPath::pooled:
    case DirectPath::mapped:
    case DirectPath::gpu: return std::span(all_stages).first(1);
    // Nothing is copied in; but what is read where it lies must stay there until all have read it.
    case DirectPath::single_copy: return std::span(all_stages).subspan(combines ? 2 : 3);
    case DirectPath::staged: return std::span(all_stages).subspan(1, combines ? 2 : 1);
  }
  return {};
}

// Control lines that an announcement takes: single copy says in a second one where the buffers are.
constexpr std::size_t announcement_lines(DirectPath path) {
  return path == DirectPath::single_copy ? 2 : 1;
}
// Counters that members who share the parts of an operation change for each of them: the next part, and those done.
inline constexpr std::size_t counters_per_shared_part = 2;

}  // namespace hocket
