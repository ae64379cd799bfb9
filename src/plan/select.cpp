// Selection: the first row of the table that fits. A function of the call alone, so that all ranks choose alike.
#include <algorithm>
#include <bit>

#include "src/plan/plan.hpp"

namespace hocket {
namespace {

constexpr std::size_t any_bytes = SIZE_MAX;

// Numbers of ranks.
struct Sizes {
  Rank most = INT32_MAX;
  bool powers_of_two_only = false;

  constexpr bool hold(Rank size) const {
    return size <= most && (!powers_of_two_only || std::has_single_bit(static_cast<std::uint32_t>(size)));
  }
};

constexpr Sizes any_size{};
constexpr Sizes powers_of_two{.powers_of_two_only = true};
constexpr Sizes up_to(Rank most) {
  return {.most = most};
}
constexpr Sizes powers_up_to(Rank most) {
  return {.most = most, .powers_of_two_only = true};
}

// Where a rule holds: everywhere; where there are several hosts and some ranks share one; where one host has all ranks
// and no more cores than the rounds of doubling, L = ⌈log₂ N⌉; or where even a rank that sends all data L times has no
// more to do than a core's share of the ring's work, L · cores < N.
enum class Hosts : std::uint8_t { any, shared, crowded, packed };

struct Rule {
  Collective collective;
  Hosts hosts;
  Sizes sizes;
  std::size_t bytes_max;
  std::string_view algorithm;
};

using enum Hosts;

// Small messages cost rounds, large ones bytes. Two levels move the least between hosts; only their allreduce takes
// more rounds there than doubling does. On a crowded host, messages and waits cost, not rounds: ranks that do not run
// have no use for a short way, and the kernel copies as many bytes whichever way they go. Measured on two cores.
constexpr Rule rules[] = {
    {Collective::allreduce, any, up_to(2), 64 << 10, "recursive_doubling"},
    {Collective::allreduce, crowded, powers_up_to(4), 32 << 10, "linear"},
    {Collective::allreduce, crowded, powers_up_to(4), 16 << 20, "rabenseifner"},
    {Collective::allreduce, crowded, up_to(3), 512 << 10, "linear"},
    {Collective::allreduce, crowded, up_to(3), 32 << 20, "binomial_tree"},
    {Collective::allreduce, crowded, up_to(4), any_bytes, "ring"},
    {Collective::allreduce, crowded, up_to(6), 48 << 10, "linear"},
    {Collective::allreduce, crowded, up_to(6), 1536 << 10, "double_tree"},
    {Collective::allreduce, crowded, up_to(6), any_bytes, "rabenseifner"},
    {Collective::allreduce, crowded, powers_of_two, 128 << 10, "linear"},
    {Collective::allreduce, crowded, any_size, 96 << 10, "linear"},
    {Collective::allreduce, crowded, any_size, 384 << 10, "binomial_tree"},
    {Collective::allreduce, crowded, powers_of_two, 1 << 20, "rabenseifner"},
    {Collective::allreduce, crowded, any_size, 3 << 20, "double_tree"},
    {Collective::allreduce, crowded, up_to(7), 8 << 20, "rabenseifner"},
    {Collective::allreduce, packed, any_size, any_bytes, "binomial_tree"},
    {Collective::allreduce, shared, any_size, 2 << 10, "recursive_doubling"},
    {Collective::allreduce, shared, any_size, any_bytes, "two_level"},
    {Collective::allreduce, any, any_size, 16 << 10, "recursive_doubling"},
    {Collective::allreduce, any, powers_of_two, 1 << 20, "rabenseifner"},
    {Collective::allreduce, any, any_size, 1 << 20, "circulant"},
    {Collective::allreduce, any, any_size, any_bytes, "ring"},
    {Collective::reduce, any, any_size, any_bytes, "binomial_tree"},
    {Collective::reduce_scatter, crowded, powers_up_to(4), 16 << 10, "linear"},
    {Collective::reduce_scatter, crowded, powers_up_to(4), 2 << 20, "recursive_halving"},
    {Collective::reduce_scatter, crowded, up_to(3), 8 << 10, "linear"},
    {Collective::reduce_scatter, crowded, up_to(3), 2 << 20, "recursive_halving"},
    {Collective::reduce_scatter, crowded, up_to(6), 48 << 10, "linear"},
    {Collective::reduce_scatter, crowded, up_to(6), 2 << 20, "recursive_halving"},
    {Collective::reduce_scatter, crowded, any_size, 256 << 10, "linear"},
    {Collective::reduce_scatter, crowded, powers_of_two, 1 << 20, "recursive_halving"},
    {Collective::reduce_scatter, shared, any_size, any_bytes, "two_level"},
    {Collective::reduce_scatter, any, any_size, 16 << 10, "direct"},
    {Collective::reduce_scatter, any, powers_of_two, 1 << 20, "recursive_halving"},
    {Collective::reduce_scatter, any, any_size, 1 << 20, "circulant"},
    {Collective::reduce_scatter, any, any_size, any_bytes, "ring"},
    {Collective::allgather, crowded, up_to(3), 32 << 10, "linear"},
    {Collective::allgather, crowded, up_to(3), 512 << 10, "recursive_doubling"},
    {Collective::allgather, crowded, up_to(3), any_bytes, "ring"},
    {Collective::allgather, crowded, up_to(4), 128 << 10, "linear"},
    {Collective::allgather, crowded, up_to(4), 512 << 10, "circulant"},
    {Collective::allgather, crowded, powers_up_to(4), 2 << 20, "recursive_doubling"},
    {Collective::allgather, crowded, up_to(4), 1 << 20, "circulant"},
    {Collective::allgather, crowded, up_to(7), 192 << 10, "linear"},
    {Collective::allgather, crowded, up_to(7), 1 << 20, "circulant"},
    {Collective::allgather, crowded, up_to(16), 512 << 10, "linear"},
    {Collective::allgather, crowded, any_size, 128 << 10, "linear"},
    {Collective::allgather, shared, any_size, any_bytes, "two_level"},
    {Collective::allgather, any, any_size, 16 << 10, "direct"},
    {Collective::allgather, any, any_size, 1 << 20, "circulant"},
    {Collective::allgather, any, any_size, any_bytes, "ring"},
    {Collective::broadcast, shared, any_size, 16 << 10, "leaders"},
    {Collective::broadcast, shared, any_size, any_bytes, "two_level"},
    {Collective::broadcast, any, any_size, 512 << 10, "binomial_tree"},
    {Collective::broadcast, crowded, any_size, any_bytes, "binomial_tree"},
    {Collective::broadcast, any, any_size, any_bytes, "scatter_allgather"},
    {Collective::scatter, any, any_size, any_bytes, "linear"},
    {Collective::gather, any, any_size, any_bytes, "linear"},
    {Collective::alltoall, crowded, up_to(4), 16 << 10, "bruck"},
    {Collective::alltoall, crowded, up_to(4), any_bytes, "pairwise"},
    {Collective::alltoall, crowded, up_to(7), 128 << 10, "bruck"},
    {Collective::alltoall, crowded, any_size, 48 << 10, "bruck"},
    {Collective::alltoall, any, any_size, any_bytes, "pairwise"},
    {Collective::scan, crowded, any_size, any_bytes, "prefix_chain"},
    {Collective::scan, any, any_size, 64 << 10, "recursive_doubling"},
    {Collective::scan, any, any_size, any_bytes, "prefix_chain"},
    {Collective::exscan, crowded, any_size, any_bytes, "prefix_chain"},
    {Collective::exscan, any, any_size, 64 << 10, "recursive_doubling"},
    {Collective::exscan, any, any_size, any_bytes, "prefix_chain"},
    {Collective::barrier, crowded, any_size, any_bytes, "linear"},
    {Collective::barrier, any, any_size, any_bytes, "dissemination"},
    {Collective::send, any, any_size, any_bytes, "direct"},
    {Collective::recv, any, any_size, any_bytes, "direct"},
};

// For wire formats of lower precision; what has no row is exact. Messages of all ranks to all cost too much between
// hosts with many ranks, where two exact levels move less.
constexpr Rule encoded_rules[] = {
    {Collective::allreduce, shared, any_size, any_bytes, "two_level"},
    {Collective::allreduce, any, any_size, any_bytes, "encoded_two_shot"},
    {Collective::reduce_scatter, shared, any_size, any_bytes, "two_level"},
    {Collective::reduce_scatter, any, any_size, any_bytes, "encoded_direct"},
    {Collective::allgather, shared, any_size, any_bytes, "two_level"},
    {Collective::allgather, any, any_size, any_bytes, "encoded_direct"},
};

// Where sums must be taken from left to right in rank order. The chains need little memory however many ranks there
// are, and of neighbours on one host only the last speaks with another host.
constexpr Rule ordered_rules[] = {
    {Collective::allreduce, any, up_to(2), 64 << 10, "one_shot"},
    {Collective::allreduce, crowded, any_size, 128 << 10, "linear"},
    {Collective::allreduce, any, up_to(8), 8 << 10, "one_shot"},
    {Collective::allreduce, any, up_to(16), 256 << 10, "two_shot"},
    {Collective::allreduce, any, any_size, 64 << 10, "linear"},
    {Collective::allreduce, shared, any_size, any_bytes, "ordered_chain"},
    {Collective::allreduce, any, up_to(16), any_bytes, "two_shot"},
    {Collective::allreduce, any, any_size, any_bytes, "ordered_chain"},
    {Collective::reduce, any, up_to(2), any_bytes, "linear"},
    {Collective::reduce, any, any_size, 128 << 10, "linear"},
    {Collective::reduce, any, any_size, any_bytes, "ordered_chain"},
    {Collective::reduce_scatter, crowded, any_size, 128 << 10, "linear"},
    {Collective::reduce_scatter, any, up_to(16), 256 << 10, "direct"},
    {Collective::reduce_scatter, any, any_size, 64 << 10, "direct"},
    {Collective::reduce_scatter, shared, any_size, any_bytes, "ordered_chain"},
    {Collective::reduce_scatter, any, up_to(16), any_bytes, "direct"},
    {Collective::reduce_scatter, any, any_size, any_bytes, "ordered_chain"},
    {Collective::scan, any, any_size, any_bytes, "prefix_chain"},
    {Collective::exscan, any, any_size, any_bytes, "prefix_chain"},
};

// For blocks that vary: chunks move one at a time, so several of them cost as many messages, wherever they go.
constexpr Rule uneven_rules[] = {
    {Collective::reduce_scatter, shared, any_size, any_bytes, "two_level"},
    {Collective::reduce_scatter, any, any_size, 1 << 20, "direct"},
    {Collective::reduce_scatter, any, any_size, any_bytes, "ring"},
    {Collective::allgather, shared, any_size, any_bytes, "two_level"},
    {Collective::allgather, any, any_size, 1 << 20, "direct"},
    {Collective::allgather, any, any_size, any_bytes, "ring"},
    {Collective::scatter, any, any_size, any_bytes, "linear"},
    {Collective::gather, any, any_size, any_bytes, "linear"},
    {Collective::alltoall, any, any_size, any_bytes, "pairwise"},
};

}  // namespace

bool known_algorithm(std::string_view name) {
  return name == automatic_algorithm ||
         std::ranges::any_of(catalog(), [&](const Algorithm& algorithm) { return algorithm.name == name; });
}

std::optional<Collective> out_of_rank_order(std::string_view name) {
  const auto found = std::ranges::find_if(catalog(), [&](const Algorithm& algorithm) {
    return algorithm.name == name && reduces(algorithm.collective) && !algorithm.in_rank_order;
  });
  return found == catalog().end() ? std::nullopt : std::optional(found->collective);
}

const Algorithm& select_algorithm(const Call& call, std::string_view wanted) {
  const bool ordered = call.in_rank_order && reduces(call.collective);
  const bool encoded = call.wire != WireFormat::exact && call.size > 1 && !call.in_rank_order;
  const Algorithm* named = find_algorithm(call.collective, wanted);
  const bool fits = named != nullptr && named->encoded == encoded && (named->in_rank_order || !ordered) &&
                    !(call.uneven && named->forwards_blocks);
  if (fits) return *named;
  const Rank hosts = call.topology.hosts(), doublings = std::bit_width(static_cast<std::uint32_t>(call.size - 1));
  const auto holds = [&](Hosts where) {
    switch (where) {
      case Hosts::any: return true;
      case Hosts::shared: return hosts > 1 && hosts < call.size;
      case Hosts::crowded: return call.cores != 0 && call.cores <= doublings;
      case Hosts::packed: return call.cores != 0 && std::int64_t{call.cores} * doublings < call.size;
    }
    return false;
  };
  const std::span<const Rule> table = encoded       ? std::span<const Rule>(encoded_rules)
                                      : ordered     ? std::span<const Rule>(ordered_rules)
                                      : call.uneven ? std::span<const Rule>(uneven_rules)
                                                    : rules;
  const Rule& rule = *std::ranges::find_if(table, [&](const Rule& candidate) {
    return candidate.collective == call.collective && holds(candidate.hosts) && candidate.sizes.hold(call.size) &&
           call.bytes <= candidate.bytes_max;
  });
  return *find_algorithm(call.collective, rule.algorithm);
}

}  // namespace hocket
