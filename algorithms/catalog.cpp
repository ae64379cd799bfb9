// The catalog: every algorithm, in the order in which people see them. A new algorithm is an entry here, and its
// function's name above the entries.
#include <algorithm>

#include "src/spi/schedule.hpp"

namespace hocket {
namespace algorithms {

// What the entries below name, by the file that defines it.
using Function = void(const Shape&, ScheduleBuilder&);
Function ring_reduce_scatter, ring_allgather, ring_allreduce;  // ring.cpp
Function recursive_doubling_allreduce, rabenseifner_allreduce, recursive_halving_reduce_scatter,
    recursive_doubling_allgather;                                                              // recursive.cpp
Function circulant_allreduce, circulant_reduce_scatter, circulant_allgather, bruck_allgather;  // circulant.cpp
Function bruck_alltoall;                                                                       // bruck.cpp
Function binomial_allreduce, binomial_broadcast, binomial_reduce, binomial_scatter, binomial_gather, binomial_barrier,
    scatter_allgather_broadcast;                                            // tree.cpp
Function double_tree_allreduce, double_tree_reduce, double_tree_broadcast;  // double_tree.cpp
Function torus_allreduce, torus_reduce_scatter, torus_allgather;            // torus.cpp
Function pat_reduce_scatter, pat_allgather;                                 // pat.cpp
Function chain_broadcast, chain_reduce, ordered_chain_allreduce, ordered_chain_reduce,
    ordered_chain_reduce_scatter;  // chain.cpp
Function one_shot_allreduce, two_shot_allreduce, direct_reduce_scatter, direct_allgather, pairwise_alltoall,
    direct_send, direct_recv;                                                    // direct.cpp
Function encoded_two_shot_allreduce, encoded_reduce_scatter, encoded_allgather;  // encoded.cpp
Function encoded_two_level_allreduce, encoded_two_level_reduce_scatter,
    encoded_two_level_allgather;  // two_level_encoded.cpp
Function linear_allreduce, linear_reduce, linear_reduce_scatter, linear_allgather, linear_scatter, linear_gather,
    linear_barrier;                                                                                // linear.cpp
Function doubling_scan, doubling_exscan, chain_scan, chain_exscan;                                 // prefix.cpp
Function two_level_allreduce, two_level_reduce_scatter, two_level_allgather, two_level_broadcast;  // two_level.cpp
Function dissemination_barrier;                                                                    // dissemination.cpp

}  // namespace algorithms

namespace {

using namespace algorithms;
using enum Chunking;

constexpr bool multi_block = true;  // moves several blocks at once
constexpr bool forwards_blocks = true;

constexpr Algorithm turning(Symmetry symmetry, Algorithm entry) {
  entry.symmetry = symmetry;
  return entry;
}

constexpr Algorithm entries[] = {
    turning(Symmetry::ranks,
            {"ring", Collective::allreduce, one_per_rank, ring_allreduce,
             "neighbours only: 2(N-1) steps, each rank sends 2(N-1)/N of the data, the least possible"}),
    {"recursive_doubling", Collective::allreduce, one, recursive_doubling_allreduce,
     "partners at distance 1, 2, 4 ...: log2 N rounds of all the data"},
    {"circulant", Collective::allreduce, one_per_rank, circulant_allreduce,
     "halves go to ranks N/2, N/4 ... further on: 2 log2 N rounds for any N, 2(N-1)/N of the data"},
    {"rabenseifner", Collective::allreduce, one_per_rank, rabenseifner_allreduce,
     "recursive halving, then doubling: 2 log2 N rounds, 2(N-1)/N of the data; more if N is not a power of two"},
    {"binomial_tree", Collective::allreduce, one, binomial_allreduce,
     "up a binomial tree and down again: 2 log2 N rounds, the fewest messages"},
    {"double_tree", Collective::allreduce, two, double_tree_allreduce,
     "a half up and down each of two binary trees, no rank inner in both: each sends at most twice the data"},
    turning(Symmetry::rows,
            {"torus", Collective::allreduce, one_per_rank, torus_allreduce,
             "rings along columns and rows of a grid of R x C ranks: 2(R+C-2) steps, 2(N-1)/N of the data"}),
    {.name = "one_shot",
     .collective = Collective::allreduce,
     .chunking = one,
     .function = one_shot_allreduce,
     .summary = "everybody sends everything to all and sums alone: 1 round, N-1 times the data",
     .in_rank_order = true},
    {.name = "two_shot",
     .collective = Collective::allreduce,
     .chunking = one_per_rank,
     .function = two_shot_allreduce,
     .summary = "rank j sums the j-th part of all and sends it to all: 2 rounds, 2(N-1)/N of the data",
     .in_rank_order = true},
    {.name = "linear",
     .collective = Collective::allreduce,
     .chunking = one,
     .function = linear_allreduce,
     .summary = "rank 0 sums and sends to all: 2 rounds, rank 0 moves 2(N-1) times the data",
     .in_rank_order = true},
    {.name = "ordered_chain",
     .collective = Collective::allreduce,
     .chunking = one_per_rank,
     .function = ordered_chain_allreduce,
     .summary = "sums go from rank 0 to N-1, results back: 2(N-1) rounds, each rank sends twice the data",
     .in_rank_order = true},
    {.name = "two_level",
     .collective = Collective::allreduce,
     .chunking = one_per_rail_and_host,
     .function = two_level_allreduce,
     .summary = "sums on each host, rings over one rank of each host: a host sends 2(H-1)/H of the data",
     .by_host = true,
     .symmetry = Symmetry::hosts},
    {.name = "encoded_two_shot",
     .collective = Collective::allreduce,
     .chunking = one_per_rank,
     .function = encoded_two_shot_allreduce,
     .summary = "two_shot in the call's wire format: 2 rounds, 2(N-1)/N of the data encoded, two roundings",
     .encoded = true},
    {.name = "encoded_two_level",
     .collective = Collective::allreduce,
     .chunking = one_per_rail_and_host,
     .function = encoded_two_level_allreduce,
     .summary = "exact sums on each host, two shots between hosts in the call's wire format: two roundings",
     .by_host = true,
     .encoded = true},
    {"binomial_tree", Collective::reduce, one, binomial_reduce,
     "up a binomial tree: log2 N rounds, each rank sends all the data once"},
    {"chain", Collective::reduce, one, chain_reduce,
     "from neighbour to neighbour in slices: N-1 rounds, each rank sends all the data once"},
    {"double_tree", Collective::reduce, two, double_tree_reduce,
     "a half up each of two binary trees, no rank inner in both: log2 N rounds, each sends the data once"},
    {.name = "linear",
     .collective = Collective::reduce,
     .chunking = one,
     .function = linear_reduce,
     .summary = "the root sums: 1 round, the root receives the data of all",
     .in_rank_order = true},
    {.name = "ordered_chain",
     .collective = Collective::reduce,
     .chunking = one_per_rank,
     .function = ordered_chain_reduce,
     .summary = "sums go from rank 0 to N-1, the result to the root: N rounds, each rank sends all the data once",
     .in_rank_order = true},
    turning(Symmetry::ranks, {"ring", Collective::reduce_scatter, one_per_rank, ring_reduce_scatter,
                              "neighbours only: N-1 steps, each rank sends (N-1)/N of the data"}),
    {.name = "direct",
     .collective = Collective::reduce_scatter,
     .chunking = one_per_rank,
     .function = direct_reduce_scatter,
     .summary = "every rank sends each part to its owner: 1 round of N-1 messages, (N-1)/N of the data",
     .in_rank_order = true},
    {"circulant", Collective::reduce_scatter, one_per_rank, circulant_reduce_scatter,
     "halves go to ranks N/2, N/4 ... further on: log2 N rounds for any N, (N-1)/N of the data", multi_block},
    turning(
        Symmetry::ranks,
        {"pat", Collective::reduce_scatter, one_per_rank, pat_reduce_scatter,
         "a binomial tree for each part, near hops first: log2 N rounds of N-1 messages, scratch for 8 log2 N parts at "
         "most"}),
    turning(
        Symmetry::rows,
        {"torus", Collective::reduce_scatter, one_per_rank, torus_reduce_scatter,
         "rings along columns, then rows, of a grid of R x C ranks: R+C-2 steps, (N-1)/N of the data", multi_block}),
    {"recursive_halving", Collective::reduce_scatter, one_per_rank, recursive_halving_reduce_scatter,
     "partners exchange halves: log2 N rounds, (N-1)/N of the data; more if N is not a power of two", multi_block},
    {.name = "linear",
     .collective = Collective::reduce_scatter,
     .chunking = one_per_rank,
     .function = linear_reduce_scatter,
     .summary = "rank 0 sums and sends each its part: 2 rounds, rank 0 receives N-1 times the data",
     .multi_block = true,
     .in_rank_order = true},
    {.name = "ordered_chain",
     .collective = Collective::reduce_scatter,
     .chunking = one_per_rank,
     .function = ordered_chain_reduce_scatter,
     .summary = "sums go from rank 0 to N-1, results to their owners: N rounds, each rank sends all the data once",
     .in_rank_order = true},
    {.name = "two_level",
     .collective = Collective::reduce_scatter,
     .chunking = one_per_rank,
     .function = two_level_reduce_scatter,
     .summary = "sums each part on each host, then sends it to its owner: 1 round between hosts",
     .by_host = true,
     .symmetry = Symmetry::hosts},
    {.name = "encoded_direct",
     .collective = Collective::reduce_scatter,
     .chunking = one_per_rank,
     .function = encoded_reduce_scatter,
     .summary = "direct in the call's wire format: 1 round, (N-1)/N of the data encoded, one rounding",
     .encoded = true},
    {.name = "encoded_two_level",
     .collective = Collective::reduce_scatter,
     .chunking = one_per_rank,
     .function = encoded_two_level_reduce_scatter,
     .summary = "exact sums on each host, which go to the owner in the call's wire format: one rounding",
     .by_host = true,
     .encoded = true},
    turning(Symmetry::ranks, {"ring", Collective::allgather, one_per_rank, ring_allgather,
                              "neighbours only: N-1 steps, each rank sends (N-1)/N of the data"}),
    {"direct", Collective::allgather, one_per_rank, direct_allgather,
     "every rank sends its block to all: 1 round of N-1 messages, (N-1)/N of the data"},
    {"circulant", Collective::allgather, one_per_rank, circulant_allgather,
     "from ranks 1, 2 ... N/4, N/2 further on: log2 N rounds for any N, (N-1)/N of the data", multi_block},
    {"bruck", Collective::allgather, one_per_rank, bruck_allgather,
     "from ranks 1, 2, 4 ... further on: log2 N rounds for any N, (N-1)/N of the data", multi_block},
    turning(Symmetry::ranks,
            {"pat", Collective::allgather, one_per_rank, pat_allgather,
             "a binomial tree for each block, far hops first: N-1 messages in log2 N rounds, (N-1)/N of the data"}),
    turning(
        Symmetry::rows,
        {"torus", Collective::allgather, one_per_rank, torus_allgather,
         "rings along rows, then columns, of a grid of R x C ranks: R+C-2 steps, (N-1)/N of the data", multi_block}),
    {"recursive_doubling", Collective::allgather, one_per_rank, recursive_doubling_allgather,
     "partners at distance 1, 2, 4 ...: log2 N rounds, (N-1)/N of the data; more if N is not a power of two",
     multi_block},
    {"linear", Collective::allgather, one_per_rank, linear_allgather,
     "rank 0 receives all blocks and sends all to all: 2 rounds, rank 0 sends N-1 times the data", multi_block},
    {.name = "two_level",
     .collective = Collective::allgather,
     .chunking = one_per_rank,
     .function = two_level_allgather,
     .summary = "each block enters each host once and is passed on there: 1 round between hosts",
     .by_host = true,
     .symmetry = Symmetry::hosts},
    {.name = "encoded_direct",
     .collective = Collective::allgather,
     .chunking = one_per_rank,
     .function = encoded_allgather,
     .summary = "direct in the call's wire format: 1 round, (N-1)/N of the data encoded, one rounding",
     .encoded = true},
    {.name = "encoded_two_level",
     .collective = Collective::allgather,
     .chunking = one_per_rank,
     .function = encoded_two_level_allgather,
     .summary = "each host gets a block once, in the call's wire format: one rounding",
     .by_host = true,
     .encoded = true},
    {"binomial_tree", Collective::broadcast, one, binomial_broadcast,
     "down a binomial tree: log2 N rounds, the root sends the data log2 N times"},
    {"chain", Collective::broadcast, one, chain_broadcast,
     "from neighbour to neighbour in slices: N-1 rounds, each rank sends all the data once"},
    {"double_tree", Collective::broadcast, two, double_tree_broadcast,
     "a half down each of two binary trees, no rank inner in both: log2 N rounds, none sends more than the data"},
    {"scatter_allgather", Collective::broadcast, one_per_rank, scatter_allgather_broadcast,
     "parts go down a binomial tree, then round the ring: each rank sends less than twice the data"},
    {.name = "two_level",
     .collective = Collective::broadcast,
     .chunking = one_per_rail,
     .function = two_level_broadcast,
     .summary = "each host gets the data once, cut up among its ranks: log2 H rounds between hosts",
     .by_host = true},
    {.name = "leaders",
     .collective = Collective::broadcast,
     .chunking = one,
     .function = two_level_broadcast,
     .summary =
         "down a binomial tree of hosts, then one on each host: the fewest messages, each host gets the data once",
     .by_host = true},
    {"linear", Collective::scatter, one_per_rank, linear_scatter, "the root sends each rank its block: 1 round"},
    {"binomial_tree", Collective::scatter, one_per_rank, binomial_scatter,
     "down a binomial tree, a subtree's blocks in one message: log2 N rounds", multi_block, forwards_blocks},
    {"linear", Collective::gather, one_per_rank, linear_gather, "every rank sends its block to the root: 1 round"},
    {"binomial_tree", Collective::gather, one_per_rank, binomial_gather,
     "up a binomial tree, a subtree's blocks in one message: log2 N rounds", multi_block, forwards_blocks},
    turning(Symmetry::ranks, {"pairwise", Collective::alltoall, one_per_rank, pairwise_alltoall,
                              "the k-th message goes k ranks to the right: N-1 messages, (N-1)/N of the data"}),
    {"bruck", Collective::alltoall, one_per_rank, bruck_alltoall,
     "packed blocks go 1, 2, 4 ... ranks to the right: log2 N rounds, log2(N)/2 times the data", multi_block,
     forwards_blocks},
    turning(Symmetry::ranks, {"dissemination", Collective::barrier, one, dissemination_barrier,
                              "one byte to the rank 1, 2, 4 ... further on: log2 N rounds, any N"}),
    {"linear", Collective::barrier, one, linear_barrier, "one byte to rank 0 and back: 2 rounds, the fewest messages"},
    {"binomial_tree", Collective::barrier, one, binomial_barrier,
     "one byte up a binomial tree and down again: 2 log2 N rounds, the fewest messages"},
    {"recursive_doubling", Collective::scan, one, doubling_scan,
     "to the ranks 1, 2, 4 ... further on: log2 N rounds of all the data, any N"},
    {.name = "prefix_chain",
     .collective = Collective::scan,
     .chunking = one,
     .function = chain_scan,
     .summary = "from neighbour to neighbour in slices: N-1 rounds, each rank sends all the data once",
     .in_rank_order = true},
    {"recursive_doubling", Collective::exscan, one, doubling_exscan,
     "to the ranks 1, 2, 4 ... further on: log2 N rounds of all the data, any N"},
    {.name = "prefix_chain",
     .collective = Collective::exscan,
     .chunking = one,
     .function = chain_exscan,
     .summary = "from neighbour to neighbour in slices: N-1 rounds, each rank sends all the data once",
     .in_rank_order = true},
    {"direct", Collective::send, one, direct_send, "one message"},
    {"direct", Collective::recv, one, direct_recv, "one message"},
};

}  // namespace

std::span<const Algorithm> catalog() {
  return entries;
}

const Algorithm* find_algorithm(Collective collective, std::string_view name) {
  const auto found = std::ranges::find_if(
      entries, [&](const Algorithm& entry) { return entry.collective == collective && entry.name == name; });
  return found == std::end(entries) ? nullptr : found;
}

}  // namespace hocket
