// Who a direct operation waits for, as the boards tell it.
//
// Members wait for each other, so at a deadline most of those who have not done their part are themselves waiting for
// the one that is stopped. Who waits says so on its board once a second; so the silent one stands out, on all members
// alike.
#include <fmt/format.h>

#include <algorithm>

#include "src/exec/direct/board.hpp"
#include "src/exec/direct/direct_operation.hpp"

namespace hocket {
namespace {

constexpr std::chrono::milliseconds silent_after = telling_interval + std::chrono::milliseconds(500);

}  // namespace

// Who has announced and left has also finished.
bool DirectOperation::can_do_without(Rank peer) const {
  for (std::uint32_t member = 0; member < members_; ++member) {
    if (use_.window->rank_of(member) != peer) continue;
    return word(member, board::announcement_line(turn_), 0).load(std::memory_order_acquire) >= turn_;
  }
  return true;
}

void DirectOperation::tell_waiting() {
  const auto now = std::chrono::nanoseconds(Deadline::Clock::now().time_since_epoch()).count();
  word(self_, board::life_line, 0).store(static_cast<std::uint64_t>(now), std::memory_order_relaxed);
}

std::chrono::nanoseconds DirectOperation::silence_of(std::uint32_t member) const {
  const std::uint64_t told = word(member, board::life_line, 0).load(std::memory_order_relaxed);
  return Deadline::Clock::now().time_since_epoch() - std::chrono::nanoseconds(told);
}

bool DirectOperation::has_done_its_part(std::uint32_t member) const {
  constexpr auto acquire = std::memory_order_acquire;
  if (phase_ == Phase::announce || (phase_ == Phase::gather && needs(member))) {
    const std::uint64_t awaited = phase_ == Phase::announce ? turn_before() : turn_;
    return word(member, board::announcement_line(awaited), 0).load(acquire) >= awaited;
  }
  if (phase_ == Phase::gather) return true;
  if (phase_ == Phase::staged) {
    return word(member, board::progress_line, board::rounds_out).load(acquire) >=
           stamp(std::min(copied_out_ + 1, exchange_.rounds()));
  }
  // Members that share the work do not say which parts are theirs.
  return word(member, board::progress_line, board::own_parts_done).load(acquire) >= stamp(1);
}

Operation::Missing DirectOperation::missing() const {
  Missing missing;
  std::chrono::nanoseconds longest{};
  for (std::uint32_t member = 0; member < members_; ++member) {
    if (member == self_ || has_done_its_part(member)) continue;
    const Rank rank = use_.window->rank_of(member);
    missing.text += fmt::format("{} rank {}", missing.text.empty() ? "waiting for" : ",", rank);
    const auto silence = silence_of(member);
    const bool silent = silence > silent_after;
    // The first of the silent ones, else who has been silent for longest.
    if (missing.peer != no_rank && missing.silent) continue;
    if (missing.peer == no_rank || silent || silence > longest) missing.peer = rank;
    missing.silent = silent;
    longest = std::max(longest, silence);
  }
  // Whom this member needs may itself wait for one that this member does not need.
  for (std::uint32_t member = 0; member < members_ && phase_ == Phase::gather && !missing.silent; ++member) {
    const bool has_come = word(member, board::announcement_line(turn_), 0).load(std::memory_order_acquire) >= turn_;
    if (member == self_ || has_come || silence_of(member) <= silent_after) continue;
    missing.peer = use_.window->rank_of(member);
    missing.silent = true;
    missing.text += fmt::format("; rank {} has not come either", missing.peer);
  }
  if (missing.text.empty()) missing.text = "waiting for ranks that have begun but not finished their part";
  return missing;
}

void DirectOperation::withdraw() {
  if (phase_ == Phase::announce || phase_ == Phase::done) return;
  word(self_, board::announcement_line(turn_), 0).store(board::withdrawn, std::memory_order_release);
}

bool DirectOperation::someone_has_withdrawn() const {
#ifndef __SANITIZE_THREAD__                             // which knows no fences
  std::atomic_thread_fence(std::memory_order_acquire);  // not before what was read until now
#endif
  for (std::uint32_t member = 0; member < members_; ++member) {
    if (word(member, board::announcement_line(turn_), 0).load(std::memory_order_relaxed) == board::withdrawn)
      return true;
  }
  return false;
}

}  // namespace hocket
