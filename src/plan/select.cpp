// Selection: the first row of the table that fits. A function of the call alone, so that all ranks choose alike.
#include <algorithm>

#include "src/plan/plan.hpp"

namespace hocket {
namespace {

constexpr Rank any_size = INT32_MAX;
constexpr std::size_t any_bytes = SIZE_MAX;

struct Rule {
  Collective collective;
  Rank size_max;
  std::size_t bytes_max;
  std::string_view algorithm;
};

// Small messages cost rounds, large ones bytes.
constexpr Rule rules[] = {
    {Collective::allreduce, any_size, 16 << 10, "recursive_doubling"},
    {Collective::allreduce, any_size, any_bytes, "ring"},
    {Collective::reduce, any_size, any_bytes, "binomial_tree"},
    {Collective::reduce_scatter, any_size, 16 << 10, "direct"},
    {Collective::reduce_scatter, any_size, any_bytes, "ring"},
    {Collective::allgather, any_size, 16 << 10, "direct"},
    {Collective::allgather, any_size, any_bytes, "ring"},
    {Collective::broadcast, any_size, any_bytes, "binomial_tree"},
    {Collective::scatter, any_size, any_bytes, "linear"},
    {Collective::gather, any_size, any_bytes, "linear"},
    {Collective::alltoall, any_size, any_bytes, "pairwise"},
    {Collective::barrier, any_size, any_bytes, "dissemination"},
    {Collective::send, any_size, any_bytes, "direct"},
    {Collective::recv, any_size, any_bytes, "direct"},
};

}  // namespace

bool known_algorithm(std::string_view name) {
  return name == automatic_algorithm ||
         std::ranges::any_of(catalog(), [&](const Algorithm& algorithm) { return algorithm.name == name; });
}

const Algorithm& select_algorithm(const Call& call, std::string_view wanted) {
  if (const Algorithm* named = find_algorithm(call.collective, wanted)) return *named;
  const Rule& rule = *std::ranges::find_if(rules, [&](const Rule& candidate) {
    return candidate.collective == call.collective && call.size <= candidate.size_max &&
           call.bytes <= candidate.bytes_max;
  });
  return *find_algorithm(call.collective, rule.algorithm);
}

}  // namespace hocket
