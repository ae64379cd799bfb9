// What a ring allreduce costs: counted and timed on real links, beside what the formula says.
//
// Of N ranks that sum S bytes, each does 2(N−1) steps and sends 2(N−1)/N · S bytes (Patarasuk and Yuan 2009, "Bandwidth
// optimal all-reduce algorithms for clusters of workstations", section 3.2), so it takes 2(N−1) · (α + S/(N·B)). The
// naive way, in which rank 0 receives everything and sends the sum to all, takes 2(N−1) · (α + S/B). See
// docs/guide/training.md.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hocket/hocket.hpp"
#include "tools/sgd/fit.hpp"
#include "tools/sgd/options.hpp"
#include "tools/sgd/training.hpp"

namespace hocket::sgd {

enum class Way { ring, naive };

// The least and the most that any rank did in any of several calls.
struct Extremes {
  std::int64_t least = 0, most = 0;
};

// Allreduces of one size on so many ranks.
struct Measured {
  Way way = Way::ring;
  int ranks = 0;
  std::size_t bytes = 0;  // S
  Extremes steps, sent;   // per rank and call
  bool sums_right = false;
  int calls = 0;       // that were timed
  double seconds = 0;  // median over calls, each until the last rank has its result

  // What the formula says: of every rank (ring), of rank 0 (naive).
  std::int64_t expected_steps() const;
  std::int64_t expected_bytes() const;
  // Whether the counted facts are those; sums must be right too.
  bool holds() const;
  Sample sample() const;
};

// An average step of a training run with one batch shared out among so many ranks.
struct Trial {
  int ranks = 1;
  std::string exchange;  // of gradients, in words; empty for one rank
  bool overlaps = false;
  StepTimes times;
  double step_alone = 0;  // what the step takes one process with the whole batch

  // T_sync / T_comp. Below N−1 it pays to have N ranks, as long as each has a processor core of its own.
  double ratio() const { return times.wait / times.compute; }
  double formula_speedup() const { return ranks / (1 + ratio()); }
  double measured_speedup() const { return step_alone / times.total(); }
};

struct Proven {
  std::string links;  // what they are, in words
  int cores = 0;      // of this machine, which all ranks share unless a launcher has spread them
  std::vector<Measured> measured;
  Fit ring, naive;
  std::size_t gradient_bytes = 0;
  std::vector<Trial> trials;

  const Measured* find(Way way, int ranks, std::size_t bytes) const;
  bool holds() const;
  // Why the times, not the counts, may say little; sentences for the reader.
  std::vector<std::string> doubts() const;
};

// Measures with 2, 3 … options.proof->ranks ranks, of which `world` must have at least so many. Collective: every rank
// of world calls it; the result is complete on rank 0. `tell` is called on rank 0 with what is done next.
Proven prove(const Options& options, Communicator& world, const std::function<void(const std::string&)>& tell);

}  // namespace hocket::sgd
