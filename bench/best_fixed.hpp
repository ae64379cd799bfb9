// How much slower is what the library chooses than the best algorithm that could have been named? Measures both in one
// job: a communicator for each, taking turns size by size, so that what disturbs one disturbs all.
#pragma once

#include <string>
#include <vector>

#include "bench/measure.hpp"
#include "bench/options.hpp"
#include "hocket/hocket.hpp"

namespace hocket::bench {

// What was named (or "auto"), what ran, and what it took, in microseconds: the median of its rounds.
struct Standing {
  std::string named, transport, algorithm;
  double time_us = 0;
  int rounds = 0;
};

// One case.
struct Contest {
  Case what;
  int ranks = 1;
  Standing automatic;
  std::vector<Standing> fixed;  // the fastest first; not empty
  Findings findings;

  // By what share the choice takes longer than the best; negative: the choice is faster, as over shared memory.
  double slower() const { return automatic.time_us / fixed.front().time_us - 1; }
};

// Every rank calls it, as one of `options.ranks`, or one that a launcher started. Throws hocket::Error. Prints the
// table on rank 0 and writes the JSON file. Returns the exit status.
int measure_best_fixed(const Options& options);

std::string to_json(const std::vector<Contest>& contests, const Options& options);

}  // namespace hocket::bench
