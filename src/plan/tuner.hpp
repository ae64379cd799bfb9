// Tuner: the algorithm that a described network runs fastest, by size. Times come from the simulator.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "src/plan/choices.hpp"
#include "src/plan/direct/cost.hpp"
#include "src/plan/network.hpp"
#include "src/plan/select.hpp"
#include "src/plan/slicing.hpp"

namespace hocket {

// Seconds of one call from root 0, out of place and exact, with `bytes` in the larger buffer and slices as calls have
// them. As simulate() fails; invalid_argument for encoded algorithms, too.
Result<double> expected_seconds(const Network& network, const Algorithm& algorithm, std::size_t bytes);

// The same of what a communicator over shared memory makes of the call, where it takes a direct path.
std::optional<DirectExpectation> expected_directly(const Network& network, Collective collective, std::size_t bytes,
                                                   bool registered);

// What the model makes of one collective at one size.
struct Candidate {
  const Algorithm* algorithm = nullptr;
  double seconds = 0;
  bool left_out = false;  // not simulated at this size; `seconds` is what it takes at least, and far more than others
};
struct Comparison {
  std::size_t bytes = 0;
  std::vector<Candidate> candidates;  // in the catalog's order; those that can be simulated
  std::size_t chosen = 0;             // of candidates
  std::size_t built_in = 0;           // of candidates: what select_algorithm() takes; candidates.size(): not simulated
};

struct CompareOptions {
  // Does not simulate again what cannot be chosen: what took, at a smaller size, more than 4 times as long as another
  // algorithm takes at this one. Times grow with the bytes, save where data is cut into more slices, which overlap:
  // that halves them at most. The built-in choice is always simulated. The same are chosen, in less time.
  bool leave_out_hopeless = false;
  // Only algorithms that take sums in rank order.
  bool in_rank_order = false;
  // Leaves out algorithms in which every rank speaks with all others, where others exist: that so many messages meet at
  // one card, and that every rank has so many connections, costs nothing in the model.
  bool leave_out_all_to_all = false;
  // Stays with the built-in choice where that is as good. Off, where the library's own tables are made.
  bool keeps_built_in = true;
  // Called before each simulation, for a caller that tells a person what is going on.
  std::function<void(const Algorithm& algorithm, std::size_t bytes)> progress = {};
};

// One for each size, which must rise. Chosen is the fastest; but where the one chosen for the size before, or the
// built-in one, takes at most 3 % longer, it stays that: a short table is worth more. An algorithm that could not be
// simulated is not tried at larger sizes. out_of_resources where nothing can be simulated.
Result<std::vector<Comparison>> compare_algorithms(const Network& network, Collective collective,
                                                   std::span<const std::size_t> sizes,
                                                   const CompareOptions& options = {});

// 64 bytes, or 4 for each rank, to 64 MiB by factors of 2; for a barrier one size.
std::vector<std::size_t> tuning_sizes(Collective collective, Rank ranks);

// Adds the chosen algorithms: each holds from its first size to its last, the last one for all above.
void add_ranges(std::span<const Comparison> comparisons, Collective collective, Choices& choices);

}  // namespace hocket
