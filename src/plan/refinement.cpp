#include "src/plan/refinement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace hocket {
namespace {

constexpr double gain_that_counts = 0.95;  // of the time so far; less is noise, and every switch costs new links

int octave_of(std::size_t bytes) {
  return static_cast<int>(std::bit_width(bytes - 1));
}

std::size_t largest_of(int octave) {
  return std::size_t{1} << octave;
}

// Which of a pair's two calls runs by what is in force: by chance, but the same on all ranks (Steele, Lea and Flood,
// "Fast splittable pseudorandom number generators", OOPSLA 2014, the mixer of section 5).
bool in_force_first(std::uint64_t pair) {
  std::uint64_t bits = (pair + 1) * 0x9E3779B97F4A7C15u;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
  return ((bits >> 31) & 1) != 0;
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

std::array<double, 2> Refinement::Round::medians() const {
  return {median_of(seconds[in_force]), median_of(seconds[Side::challenger])};
}

// Who has not been compared yet, else the one that lost by the least.
std::size_t Refinement::Range::challenger() const {
  std::size_t best = holds == 0 ? 1 : 0;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    if (i == holds) continue;
    if (!seconds[i]) return i;
    if (*seconds[i] < *seconds[best]) best = i;
  }
  return best;
}

Refinement::Range& Refinement::range_of(Collective collective, std::size_t bytes) {
  const int octave = octave_of(bytes);
  const auto [found, fresh] = ranges_.try_emplace({collective, octave});
  Range& range = found->second;
  if (fresh) {
    range.contenders = contenders_(collective, largest_of(octave));
    range.seconds.resize(range.contenders.size());
  }
  return range;
}

Refinement::Turn Refinement::next(const Call& call) {
  Range& range = range_of(call.collective, call.bytes);
  Turn turn{.range = &range};
  ++range.calls;
  if (range.running && range.trials == 2 * pace_.pairs) {
    turn.exchanged = range.running;
    finish_round(range, true);
  } else if (range.running && range.calls > pace_.patience) {
    finish_round(range, false);
  }
  turn.rounds = range.rounds;
  if (!range.running) {
    const std::uint64_t pause = range.rounds == 0                               ? pace_.before
                                : range.exchanges + 1 < range.contenders.size() ? 1
                                                                                : pace_.rest;
    if (range.contenders.size() < 2 || range.calls <= pause) return turn;
    range.running = std::make_shared<Round>();
    range.running->call = call;
    range.running->range = &range;
    range.calls = 1;
    range.trials = 0;
  }
  if (range.running->call != call || range.trials == 2 * pace_.pairs) return turn;
  const bool first = range.trials % 2 == 0;
  turn.side = first == in_force_first(range.rounds * pace_.pairs + range.trials / 2) ? in_force : challenger;
  turn.measured = range.running;
  ++range.trials;
  return turn;
}

void Refinement::finish_round(Range& range, bool exchange) {
  range.unsettled.push_back(std::exchange(range.running, nullptr));
  range.unsettled.back()->over = !exchange;
  range.calls = 1;
  ++range.rounds;
  if (exchange) ++range.exchanges;
}

const Algorithm* Refinement::algorithm(const Turn& turn) {
  Range& range = *turn.range;
  settle(range);
  if (range.settled < turn.rounds) return nullptr;
  return range.contenders[turn.side == challenger ? range.challenger() : range.holds];
}

const Algorithm* Refinement::known(Collective collective, std::size_t bytes) {
  const Range& range = range_of(collective, bytes);
  return range.contenders[range.holds];
}

void Refinement::agree(Round& round, const std::array<double, 2>& seconds) {
  round.agreed = seconds;
  round.over = true;
  settle(*round.range);
}

void Refinement::settle(Range& range) {
  while (!range.unsettled.empty() && range.unsettled.front()->over) {
    const std::shared_ptr<Round> round = range.unsettled.front();
    range.unsettled.pop_front();
    ++range.settled;
    if (!round->agreed) continue;
    const std::size_t other = range.challenger();
    const auto& seconds = *round->agreed;
    const std::size_t largest = largest_of(octave_of(round->call.bytes));
    verdicts_.push_back({.collective = round->call.collective,
                         .bytes_min = largest / 2 + 1,
                         .bytes_max = largest,
                         .algorithms = {range.contenders[range.holds], range.contenders[other]},
                         .seconds = seconds,
                         .switched = seconds[challenger] < gain_that_counts * seconds[in_force]});
    range.seconds[range.holds] = seconds[in_force];
    range.seconds[other] = seconds[challenger];
    if (verdicts_.back().switched) range.holds = other;
  }
}

std::string describe(const Refinement::Verdict& verdict) {
  const auto& [holding, challenging] = verdict.algorithms;
  return fmt::format("{} of {} to {} bytes: {:.1f} µs by {}, {:.1f} µs by {}: {} {}", name_of(verdict.collective),
                     verdict.bytes_min, verdict.bytes_max, verdict.seconds[0] * 1e6, holding->name,
                     verdict.seconds[1] * 1e6, challenging->name, verdict.switched ? "from now on" : "still",
                     (verdict.switched ? challenging : holding)->name);
}

std::vector<const Algorithm*> contenders_for(const hocket::Call& call,
                                             const std::function<std::string_view(std::size_t bytes)>& wanted) {
  constexpr std::size_t most = SIZE_MAX / 16;
  const std::size_t bytes = std::min(call.bytes, most);
  std::vector<const Algorithm*> found;
  const auto add = [&](const hocket::Call& like, std::string_view name) {
    const Algorithm* algorithm = &select_algorithm(like, name);
    if (std::ranges::find(found, algorithm) == found.end()) found.push_back(algorithm);
  };
  hocket::Call like = call;
  for (const std::size_t size : {bytes, bytes / 4, bytes * 4, bytes / 16, bytes * 16}) {
    like.bytes = size;
    add(like, wanted(size));
    add(like, automatic_algorithm);
  }
  like.bytes = bytes;
  if (call.topology.hosts() <= 1) {
    like.cores = call.cores == 0 ? 1 : 0;
  } else {
    like.topology = Topology();
  }
  add(like, automatic_algorithm);
  return found;
}

}  // namespace hocket
