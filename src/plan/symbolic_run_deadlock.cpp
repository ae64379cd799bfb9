// What is found when a symbolic run has stopped before its end: a circle of steps that wait for one another.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/plan/symbolic_run.hpp"

namespace hocket {

Status SymbolicRun::check_finished() const {
  for (const Process& process : processes_) {
    const auto stuck = std::ranges::find(process.complete, false);
    if (stuck == process.complete.end()) continue;

    // From one that waits to what it waits for, until the way closes.
    std::vector<Place> way;
    Place place{process.program.shape.rank, static_cast<std::uint32_t>(stuck - process.complete.begin())};
    while (std::ranges::find(way, place) == way.end()) {
      way.push_back(place);
      place = blocker(place);
    }
    way.erase(way.begin(), std::ranges::find(way, place));
    std::string circle;
    for (std::size_t i = 0; i < std::min<std::size_t>(way.size(), 6); ++i) circle += name(way[i]) + " waits for ";
    return Status(Code::internal,
                  fmt::format("deadlock with synchronous sends: {}{}{}", circle,
                              way.size() > 6 ? fmt::format("{} more, and so for ", way.size() - 6) : "", name(place)));
  }
  return {};
}

// What a step that has not ended waits for. Requires that the run is over.
SymbolicRun::Place SymbolicRun::blocker(Place place) const {
  const Process& process = processes_[place.rank];
  if (process.waits[place.index] != 0) {
    for (std::uint32_t earlier = 0; earlier < place.index; ++earlier) {
      if (process.complete[earlier]) continue;
      const auto later = process.program.successors_of(process.program.instructions[earlier]);
      if (std::ranges::find(later, place.index) != later.end()) return {place.rank, earlier};
    }
  }
  const Pair& pair = pairs_[process.pairs[at(place).channel]];
  const bool outgoing = pair.from.rank == place.rank;
  const Pair::End& own = outgoing ? pair.from : pair.to;
  const Pair::End& other = outgoing ? pair.to : pair.from;
  const auto position =
      static_cast<std::size_t>(std::ranges::find(own.instructions, place.index) - own.instructions.begin());
  if (position >= own.posted) return {place.rank, own.instructions[own.posted]};  // an earlier message to the same rank
  return {other.rank, other.instructions[position]};
}

}  // namespace hocket
