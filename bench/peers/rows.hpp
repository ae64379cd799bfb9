// What a harness writes about each case, in the form of hocket-bench.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/peers/harness.hpp"

namespace peers {

struct Row {
  std::string algorithm;
  std::size_t bytes = 0, count = 0, iterations = 0;
  std::vector<double> times;  // sorted, microseconds
  double mean = 0;            // of the rank that took longest for all together
  double cpu_us_per_op = 0, bytes_sent_per_rank = 0;
  std::size_t wrong = 0;

  double percentile(double fraction) const;
};

// The text as a string of JSON.
std::string quoted(const std::string& text);

void write_row(std::FILE* file, const Peer& peer, const Options& options, const Row& row, bool first);

}  // namespace peers
