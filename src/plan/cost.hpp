// Cost: closed forms of what algorithms take on a flat network, in the α–β–γ model (docs/performance/cost-formulas.md
// derives them). R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of Collective Communication Operations in
// MPICH", International Journal of High Performance Computing Applications 19 (2005), sections 4 to 6; P. Patarasuk and
// X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", Journal of Parallel and Distributed
// Computing 69 (2009); J. L. Träff, "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms", arXiv:2410.14234
// (2024).
#pragma once

#include <optional>

#include "src/plan/network.hpp"
#include "src/spi/schedule.hpp"

namespace hocket {

// What the critical path consists of.
struct CostTerms {
  double rounds = 0;         // latencies, one after the other
  double bytes = 0;          // sent
  double reduced_bytes = 0;  // of results of reductions

  friend bool operator==(const CostTerms&, const CostTerms&) = default;
};

// For data in one slice, `bytes` in the larger buffer, chunks of equal size and rounds that wait for each other.
// Nothing where there is no closed form (the simulator has an answer): point-to-point, what depends on hosts, what one
// rank does for all, and numbers of ranks that are no powers of two where the algorithm needs them to be.
std::optional<CostTerms> cost_terms(const Algorithm& algorithm, Rank size, double bytes);

// rounds · (α + send + receive) + bytes · (wire + copies at both ends) + reduced · γ, in seconds.
double cost_seconds(const CostTerms& terms, const LinkCost& link, double reduce_per_byte);

}  // namespace hocket
