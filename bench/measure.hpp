// Measures one case on all ranks of a communicator.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/buffers.hpp"
#include "bench/collectives.hpp"
#include "hocket/hocket.h"

namespace hocket::bench {

class Killing;

// How to measure.
struct Method {
  int iterations = 0;  // 0: as many as fit into `seconds`
  double seconds = 0.25;
  int warmup = 2;             // operations
  double warmup_seconds = 0;  // and after them, so long
  int checks = 1;
  bool fresh = false;
};

// One rank's membership in the benchmark.
struct Member {
  hocket_comm* comm = nullptr;
  Place place;
  Memory* memory = nullptr;        // where its buffers lie
  bool ranks_are_threads = false;  // then each counts the processor time of its thread, else of its process
  Killing* killing = nullptr;      // null: no rank kills itself
  std::function<void()> pacer;     // where all ranks meet after the barrier before each fresh operation; may be empty
  // Called now and then with a phase ("warm-up"), how much of it is done, and of how much (0: not known).
  std::function<void(const char* phase, std::size_t done, std::size_t total)> progress;
};

struct Times {
  double min = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;  // microseconds
  // Of the rank that took longest for all operations together. Where a root runs ahead of the others, operations come
  // in bursts, of which a percentile tells nothing.
  double mean = 0;
};

// Complete on rank 0; elsewhere only `iterations` means anything.
struct Measurement {
  std::size_t iterations = 0;
  // Of the slowest rank's time for one operation, by the host's clock: over iterations, or, where the memory has a
  // stream, over batches of them, each until the device was done.
  Times time_us;
  std::optional<double>
      call_us;  // where the memory has a stream: the host's median time in a call, of the slowest rank
  // Of one operation: the median; the mean where operations with a root follow each other without a pause.
  double typical_us = 0;
  double cpu_us_per_op = 0;
  double steps_per_rank = 0;               // of the rank with the most, for one operation
  double bytes_sent_per_rank = 0;          // likewise
  Findings findings;                       // of all ranks and all checks
  std::string transport, algorithm, wire;  // of the last operation timed, as rank 0 used them
};

// Every rank calls it with the same case and method. Throws hocket::Error when communication fails.
Measurement measure(const Member& member, const Case& what, const Method& method);

// Percentiles by nearest rank. Requires at least one value.
Times summarize(std::vector<double> values);

}  // namespace hocket::bench
