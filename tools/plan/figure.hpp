// What a probe measures several times.
#pragma once

#include <chrono>
#include <vector>

namespace hocket {

using ProbeClock = std::chrono::steady_clock;

inline double seconds_since(ProbeClock::time_point begin) {
  return std::chrono::duration<double>(ProbeClock::now() - begin).count();
}

// One figure, measured several times.
struct Figure {
  double value = 0;   // the median
  double spread = 0;  // from the lower to the upper quartile, as a part of the median
};
// Requires at least one sample.
Figure figure_of(std::vector<double> samples);

inline constexpr int probe_rounds = 7;

// What `measure` returns in each of several rounds; the first one, in which connections are made and memory is touched,
// does not count.
template <class Measure>
Figure repeated(const Measure& measure) {
  (void)measure();
  std::vector<double> samples;
  for (int round = 0; round < probe_rounds; ++round) samples.push_back(measure());
  return figure_of(std::move(samples));
}

}  // namespace hocket
