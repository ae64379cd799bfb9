// The authors that the catalog lists. Each writes the steps of one rank; the cost of each is stated above its
// definition, for N ranks and S bytes of input or output, whichever is larger.
#pragma once

#include "hocket/spi/schedule.hpp"

namespace hocket::algorithms {

// ring.cpp
void ring_reduce_scatter(const Shape& shape, Script& script);
void ring_allgather(const Shape& shape, Script& script);
void ring_allreduce(const Shape& shape, Script& script);

// recursive.cpp
void recursive_doubling_allreduce(const Shape& shape, Script& script);
void rabenseifner_allreduce(const Shape& shape, Script& script);
void recursive_halving_reduce_scatter(const Shape& shape, Script& script);
void recursive_doubling_allgather(const Shape& shape, Script& script);

// circulant.cpp
void circulant_allreduce(const Shape& shape, Script& script);
void circulant_reduce_scatter(const Shape& shape, Script& script);
void circulant_allgather(const Shape& shape, Script& script);
void bruck_allgather(const Shape& shape, Script& script);

// bruck.cpp
void bruck_alltoall(const Shape& shape, Script& script);

// tree.cpp
void binomial_allreduce(const Shape& shape, Script& script);
void binomial_broadcast(const Shape& shape, Script& script);
void binomial_reduce(const Shape& shape, Script& script);
void binomial_scatter(const Shape& shape, Script& script);
void binomial_gather(const Shape& shape, Script& script);
void binomial_barrier(const Shape& shape, Script& script);
void scatter_allgather_broadcast(const Shape& shape, Script& script);

// double_tree.cpp
void double_tree_allreduce(const Shape& shape, Script& script);
void double_tree_reduce(const Shape& shape, Script& script);
void double_tree_broadcast(const Shape& shape, Script& script);

// torus.cpp
void torus_allreduce(const Shape& shape, Script& script);
void torus_reduce_scatter(const Shape& shape, Script& script);
void torus_allgather(const Shape& shape, Script& script);

// pat.cpp
void pat_reduce_scatter(const Shape& shape, Script& script);
void pat_allgather(const Shape& shape, Script& script);

// chain.cpp
void chain_broadcast(const Shape& shape, Script& script);
void chain_reduce(const Shape& shape, Script& script);
void ordered_chain_allreduce(const Shape& shape, Script& script);
void ordered_chain_reduce(const Shape& shape, Script& script);
void ordered_chain_reduce_scatter(const Shape& shape, Script& script);

// direct.cpp
void one_shot_allreduce(const Shape& shape, Script& script);
void two_shot_allreduce(const Shape& shape, Script& script);
void direct_reduce_scatter(const Shape& shape, Script& script);
void direct_allgather(const Shape& shape, Script& script);
void pairwise_alltoall(const Shape& shape, Script& script);
void direct_send(const Shape& shape, Script& script);
void direct_recv(const Shape& shape, Script& script);

// encoded.cpp
void encoded_two_shot_allreduce(const Shape& shape, Script& script);
void encoded_reduce_scatter(const Shape& shape, Script& script);
void encoded_allgather(const Shape& shape, Script& script);

// linear.cpp
void linear_allreduce(const Shape& shape, Script& script);
void linear_reduce(const Shape& shape, Script& script);
void linear_reduce_scatter(const Shape& shape, Script& script);
void linear_allgather(const Shape& shape, Script& script);
void linear_scatter(const Shape& shape, Script& script);
void linear_gather(const Shape& shape, Script& script);
void linear_barrier(const Shape& shape, Script& script);

// prefix.cpp
void doubling_scan(const Shape& shape, Script& script);
void doubling_exscan(const Shape& shape, Script& script);
void chain_scan(const Shape& shape, Script& script);
void chain_exscan(const Shape& shape, Script& script);

// two_level.cpp
void two_level_allreduce(const Shape& shape, Script& script);
void two_level_reduce_scatter(const Shape& shape, Script& script);
void two_level_allgather(const Shape& shape, Script& script);
void two_level_broadcast(const Shape& shape, Script& script);

// dissemination.cpp
void dissemination_barrier(const Shape& shape, Script& script);

}  // namespace hocket::algorithms
