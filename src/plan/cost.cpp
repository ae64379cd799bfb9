#include "src/plan/cost.hpp"

#include <algorithm>
#include <bit>

namespace hocket {
namespace {

// What the forms are made of: N, ceil(log2 N), S and (N - 1)/N · S.
struct Size {
  double ranks, log, bytes, share;
};

using Form = CostTerms (*)(const Size&);

struct Entry {
  Collective collective;
  std::string_view algorithm;
  bool powers_of_two_only;
  Form form;
};

CostTerms ring_half(const Size& s) {
  return {s.ranks - 1, s.share, 0};
}
CostTerms log_half(const Size& s) {
  return {s.log, s.share, 0};
}
CostTerms reducing(CostTerms terms) {
  terms.reduced_bytes = terms.bytes;
  return terms;
}
CostTerms operator+(const CostTerms& a, const CostTerms& b) {
  return {a.rounds + b.rounds, a.bytes + b.bytes, a.reduced_bytes + b.reduced_bytes};
}
// All the data in each of ceil(log2 N) rounds.
CostTerms log_whole(const Size& s) {
  return {s.log, s.log * s.bytes, 0};
}
// From neighbour to neighbour.
CostTerms chain(const Size& s) {
  return {s.ranks - 1, (s.ranks - 1) * s.bytes, 0};
}
// Along the sides of the grid.
CostTerms torus_half(const Size& s) {
  const Grid grid = grid_of(static_cast<Rank>(s.ranks));
  return {static_cast<double>(grid.rows + grid.columns - 2), s.share, 0};
}
// Halves that come from two children follow each other.
CostTerms double_tree_up(const Size& s) {
  return {s.log, s.log * s.bytes, s.log * s.bytes / 2};
}
// On powers of two the top has one child.
CostTerms double_tree_half(const Size& s) {
  return {s.log, (s.log - 0.5) * s.bytes, 0};
}
// What a rank has of those before it and what it sends on differ by its own input: two reductions in each round but the
// first, which brings one operand, and the last, after which nothing is sent.
CostTerms doubling_exscan(const Size& s) {
  return {s.log, s.log * s.bytes, std::max(2 * s.log - 2, 0.0) * s.bytes};
}
CostTerms one_round(const Size& s) {
  return {1, s.share, 0};
}

constexpr Entry cost_entries[] = {
    {Collective::allreduce, "ring", false, [](const Size& s) { return reducing(ring_half(s)) + ring_half(s); }},
    {Collective::allreduce, "recursive_doubling", true, [](const Size& s) { return reducing(log_whole(s)); }},
    {Collective::allreduce, "circulant", false, [](const Size& s) { return reducing(log_half(s)) + log_half(s); }},
    {Collective::allreduce, "rabenseifner", true, [](const Size& s) { return reducing(log_half(s)) + log_half(s); }},
    {Collective::allreduce, "torus", false, [](const Size& s) { return reducing(torus_half(s)) + torus_half(s); }},
    {Collective::allreduce, "double_tree", true,
     [](const Size& s) { return reducing(double_tree_half(s)) + double_tree_half(s); }},
    {Collective::allreduce, "binomial_tree", false,
     [](const Size& s) { return reducing(log_whole(s)) + log_whole(s); }},
    {Collective::reduce, "binomial_tree", false, [](const Size& s) { return reducing(log_whole(s)); }},
    {Collective::reduce, "double_tree", false, double_tree_up},
    {Collective::reduce, "chain", false, [](const Size& s) { return reducing(chain(s)); }},
    {Collective::reduce_scatter, "ring", false, [](const Size& s) { return reducing(ring_half(s)); }},
    {Collective::reduce_scatter, "circulant", false, [](const Size& s) { return reducing(log_half(s)); }},
    {Collective::reduce_scatter, "pat", false, [](const Size& s) { return reducing(log_half(s)); }},
    {Collective::reduce_scatter, "torus", false, [](const Size& s) { return reducing(torus_half(s)); }},
    {Collective::reduce_scatter, "recursive_halving", true, [](const Size& s) { return reducing(log_half(s)); }},
    {Collective::allgather, "ring", false, ring_half},
    {Collective::allgather, "circulant", false, log_half},
    {Collective::allgather, "bruck", false, log_half},
    {Collective::allgather, "pat", false, log_half},
    {Collective::allgather, "torus", false, torus_half},
    {Collective::allgather, "recursive_doubling", true, log_half},
    {Collective::allgather, "direct", false, one_round},
    {Collective::broadcast, "binomial_tree", false, log_whole},
    {Collective::broadcast, "double_tree", false, log_whole},
    {Collective::broadcast, "chain", false, chain},
    {Collective::scatter, "binomial_tree", true, log_half},
    {Collective::gather, "binomial_tree", true, log_half},
    {Collective::alltoall, "pairwise", false, one_round},
    {Collective::alltoall, "bruck", true,
     [](const Size& s) {
       return CostTerms{s.log, s.log * s.bytes / 2, 0};
     }},
    {Collective::scan, "recursive_doubling", false, [](const Size& s) { return reducing(log_whole(s)); }},
    {Collective::exscan, "recursive_doubling", false, doubling_exscan},
    {Collective::exscan, "prefix_chain", false,
     [](const Size& s) {
       return CostTerms{s.ranks - 1, (s.ranks - 1) * s.bytes, (s.ranks - 2) * s.bytes};
     }},
    {Collective::scan, "prefix_chain", false, [](const Size& s) { return reducing(chain(s)); }},
    {Collective::barrier, "dissemination", false,
     [](const Size& s) {
       return CostTerms{s.log, s.log, 0};
     }},
};

}  // namespace

std::optional<CostTerms> cost_terms(const Algorithm& algorithm, Rank size, double bytes) {
  const auto* const entry = std::ranges::find_if(cost_entries, [&](const Entry& known) {
    return known.collective == algorithm.collective && known.algorithm == algorithm.name;
  });
  if (entry == std::end(cost_entries)) return std::nullopt;
  const auto ranks = static_cast<std::uint32_t>(size);
  if (entry->powers_of_two_only && !std::has_single_bit(ranks)) return std::nullopt;
  return entry->form({.ranks = static_cast<double>(size),
                      .log = static_cast<double>(std::bit_width(ranks - 1)),
                      .bytes = bytes,
                      .share = bytes * (size - 1) / size});
}

double cost_seconds(const CostTerms& terms, const LinkCost& link, double reduce_per_byte) {
  return terms.rounds * (link.latency + link.send + link.receive) +
         terms.bytes * (link.wire_per_byte + link.send_per_byte + link.receive_per_byte) +
         terms.reduced_bytes * reduce_per_byte;
}

}  // namespace hocket
