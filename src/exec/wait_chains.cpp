#include "src/exec/wait_chains.hpp"

#include <algorithm>
#include <cstdint>

#include "src/exec/direct/control_lines.hpp"

namespace hocket {
namespace {

Rank lower_of(Rank a, Rank b) {
  if (a == no_rank) return b;
  return b == no_rank ? a : std::min(a, b);
}

}  // namespace

// ---- over links -----------------------------------------------------------------------------------------------------

void ToldChains::hear(Rank peer, const Waiting& what, Rank size) {
  const auto known = [size](Rank rank) { return rank >= 0 && rank < size ? rank : no_rank; };
  const Waiting sound{.tag = what.tag, .missing = known(what.missing), .witness = known(what.witness)};
  if (is_hearsay(what)) {
    hearsay_.insert_or_assign(sound.missing, Hearsay{sound.witness, Deadline::after(silent_after)});
    return;
  }
  told_.insert_or_assign(peer, Told{sound, Deadline::after(silent_after)});
}

const Waiting* ToldChains::told_by(Rank peer) const {
  const auto told = told_.find(peer);
  if (told == told_.end() || told->second.what.missing == peer || told->second.believed_until.passed()) return nullptr;
  return &told->second.what;
}

bool ToldChains::waits(Rank peer) const {
  return told_by(peer) != nullptr;
}

// A peer may have heard less than this rank about the one that it names.
Rank ToldChains::end_behind(Rank peer) const {
  const Waiting* const told = told_by(peer);
  if (told == nullptr || told->missing == self_ || waits(told->missing)) return no_rank;
  return told->missing;
}

Rank ToldChains::witness_of(Rank end) const {
  Rank lowest = no_rank;
  for_each_that_waits([&](Rank peer) {
    const Waiting* const told = told_by(peer);
    if (told != nullptr && told->missing == end && told->witness != self_) lowest = lower_of(lowest, told->witness);
  });
  const auto heard = hearsay_.find(end);
  if (heard == hearsay_.end() || heard->second.believed_until.passed() || heard->second.witness == self_) return lowest;
  return lower_of(lowest, heard->second.witness);
}

Rank ToldChains::some_end(std::uint32_t communicator) const {
  Rank lowest = no_rank;
  for_each_that_waits([&](Rank peer) {
    if (told_by(peer)->tag.communicator == communicator) lowest = lower_of(lowest, end_behind(peer));
  });
  return lowest;
}

// ---- in a window ----------------------------------------------------------------------------------------------------

void LifeLines::show(Rank awaited) {
  ControlLine& line = window_.control_lines(window_.self())[direct::life_line];
  const auto now = std::chrono::nanoseconds(Deadline::Clock::now().time_since_epoch()).count();
  line.words[1].store(static_cast<std::uint64_t>(awaited) + 1, std::memory_order_relaxed);
  line.words[0].store(static_cast<std::uint64_t>(now), std::memory_order_release);
}

void LifeLines::clear() {
  window_.control_lines(window_.self())[direct::life_line].words[0].store(0, std::memory_order_release);
}

bool LifeLines::waits(Rank peer) const {
  const auto& word = window_.control_lines(static_cast<std::uint32_t>(peer))[direct::life_line].words[0];
  const std::uint64_t shown = word.load(std::memory_order_acquire);
  const auto now = std::chrono::nanoseconds(Deadline::Clock::now().time_since_epoch()).count();
  // Whatever the peer has written there, the difference must not overflow.
  const std::chrono::nanoseconds age(static_cast<std::int64_t>(static_cast<std::uint64_t>(now) - shown));
  return age < silent_after;
}

Rank LifeLines::awaited_by(Rank peer) const {
  const auto& word = window_.control_lines(static_cast<std::uint32_t>(peer))[direct::life_line].words[1];
  const std::uint64_t shown = word.load(std::memory_order_relaxed);
  return shown >= 1 && shown <= window_.size() ? static_cast<Rank>(shown - 1) : no_rank;
}

Rank LifeLines::end_behind(Rank peer) const {
  for (Rank steps = 0; steps < size(); ++steps) {
    if (!waits(peer)) return peer;
    peer = awaited_by(peer);
    if (peer == no_rank || peer == self()) return no_rank;
  }
  return no_rank;
}

Rank LifeLines::witness_of(Rank end) const {
  for (Rank rank = 0; rank < size(); ++rank) {
    if (rank != self() && waits(rank) && awaited_by(rank) == end) return rank;
  }
  return no_rank;
}

// ---- blame ----------------------------------------------------------------------------------------------------------

Blame blame_for(std::span<const Rank> awaited, Rank self, const WaitChains& chains, std::span<const Rank> unheard,
                std::uint32_t communicator) {
  for (const Rank peer : awaited) {
    if (!chains.waits(peer)) return {peer, lower_of(self, chains.witness_of(peer)), peer};
  }
  for (const Rank peer : awaited) {
    const Rank end = chains.end_behind(peer);
    if (end != no_rank) return {end, chains.witness_of(end), peer};
  }
  if (!unheard.empty()) {
    const Rank end = chains.some_end(communicator);
    return {end, end == no_rank ? no_rank : chains.witness_of(end), unheard.front()};
  }
  return {.through = awaited.empty() ? no_rank : awaited.front()};
}

}  // namespace hocket
