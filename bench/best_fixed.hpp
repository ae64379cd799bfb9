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
  std::vector<double> rounds_us;  // one where it had no chance
};

// One case.
struct Contest {
  Case what;
  int ranks = 1;
  Standing automatic;
  std::vector<Standing> fixed;  // the fastest first; not empty
  Findings findings;
  // By what share the choice takes longer than the best, the median over the rounds of both; negative: the choice is
  // faster, as over shared memory. What disturbs a whole round disturbs no ratio.
  double slower = 0;
};

// Every rank calls it, as one of `options.ranks`, or one that a launcher started. Throws hocket::Error. Prints the
// table on rank 0 and writes the JSON file. Returns the exit status.
int measure_best_fixed(const Options& options);

std::string to_json(const std::vector<Contest>& contests, const Options& options);

}  // namespace hocket::bench
