// The authors that the catalog lists. Each writes the steps of one rank; the cost of each is stated above its
// definition, for N ranks and S bytes of input or output, whichever is larger.
#pragma once

#include "src/spi/schedule.hpp"

namespace hocket::algorithms {

// ring.cpp
void ring_reduce_scatter(const Shape& shape, ScheduleBuilder& builder);
void ring_allgather(const Shape& shape, ScheduleBuilder& builder);
void ring_allreduce(const Shape& shape, ScheduleBuilder& builder);

// recursive.cpp
void recursive_doubling_allreduce(const Shape& shape, ScheduleBuilder& builder);
void rabenseifner_allreduce(const Shape& shape, ScheduleBuilder& builder);
void recursive_halving_reduce_scatter(const Shape& shape, ScheduleBuilder& builder);
void recursive_doubling_allgather(const Shape& shape, ScheduleBuilder& builder);

// circulant.cpp
void circulant_allreduce(const Shape& shape, ScheduleBuilder& builder);
void circulant_reduce_scatter(const Shape& shape, ScheduleBuilder& builder);
void circulant_allgather(const Shape& shape, ScheduleBuilder& builder);
void bruck_allgather(const Shape& shape, ScheduleBuilder& builder);

// bruck.cpp
void bruck_alltoall(const Shape& shape, ScheduleBuilder& builder);

// tree.cpp
void binomial_allreduce(const Shape& shape, ScheduleBuilder& builder);
void binomial_broadcast(const Shape& shape, ScheduleBuilder& builder);
void binomial_reduce(const Shape& shape, ScheduleBuilder& builder);
void binomial_scatter(const Shape& shape, ScheduleBuilder& builder);
void binomial_gather(const Shape& shape, ScheduleBuilder& builder);
void binomial_barrier(const Shape& shape, ScheduleBuilder& builder);
void scatter_allgather_broadcast(const Shape& shape, ScheduleBuilder& builder);

// double_tree.cpp
void double_tree_allreduce(const Shape& shape, ScheduleBuilder& builder);
void double_tree_reduce(const Shape& shape, ScheduleBuilder& builder);
void double_tree_broadcast(const Shape& shape, ScheduleBuilder& builder);

// torus.cpp
void torus_allreduce(const Shape& shape, ScheduleBuilder& builder);
void torus_reduce_scatter(const Shape& shape, ScheduleBuilder& builder);
void torus_allgather(const Shape& shape, ScheduleBuilder& builder);

// pat.cpp
void pat_reduce_scatter(const Shape& shape, ScheduleBuilder& builder);
void pat_allgather(const Shape& shape, ScheduleBuilder& builder);

// chain.cpp
void chain_broadcast(const Shape& shape, ScheduleBuilder& builder);
void chain_reduce(const Shape& shape, ScheduleBuilder& builder);
void ordered_chain_allreduce(const Shape& shape, ScheduleBuilder& builder);
void ordered_chain_reduce(const Shape& shape, ScheduleBuilder& builder);
void ordered_chain_reduce_scatter(const Shape& shape, ScheduleBuilder& builder);

// direct.cpp
void one_shot_allreduce(const Shape& shape, ScheduleBuilder& builder);
void two_shot_allreduce(const Shape& shape, ScheduleBuilder& builder);
void direct_reduce_scatter(const Shape& shape, ScheduleBuilder& builder);
void direct_allgather(const Shape& shape, ScheduleBuilder& builder);
void pairwise_alltoall(const Shape& shape, ScheduleBuilder& builder);
void direct_send(const Shape& shape, ScheduleBuilder& builder);
void direct_recv(const Shape& shape, ScheduleBuilder& builder);

// encoded.cpp
void encoded_two_shot_allreduce(const Shape& shape, ScheduleBuilder& builder);
void encoded_reduce_scatter(const Shape& shape, ScheduleBuilder& builder);
void encoded_allgather(const Shape& shape, ScheduleBuilder& builder);

// linear.cpp
void linear_allreduce(const Shape& shape, ScheduleBuilder& builder);
void linear_reduce(const Shape& shape, ScheduleBuilder& builder);
void linear_reduce_scatter(const Shape& shape, ScheduleBuilder& builder);
void linear_allgather(const Shape& shape, ScheduleBuilder& builder);
void linear_scatter(const Shape& shape, ScheduleBuilder& builder);
void linear_gather(const Shape& shape, ScheduleBuilder& builder);
void linear_barrier(const Shape& shape, ScheduleBuilder& builder);

// prefix.cpp
void doubling_scan(const Shape& shape, ScheduleBuilder& builder);
void doubling_exscan(const Shape& shape, ScheduleBuilder& builder);
void chain_scan(const Shape& shape, ScheduleBuilder& builder);
void chain_exscan(const Shape& shape, ScheduleBuilder& builder);

// two_level.cpp
void two_level_allreduce(const Shape& shape, ScheduleBuilder& builder);
void two_level_reduce_scatter(const Shape& shape, ScheduleBuilder& builder);
void two_level_allgather(const Shape& shape, ScheduleBuilder& builder);
void two_level_broadcast(const Shape& shape, ScheduleBuilder& builder);

// dissemination.cpp
void dissemination_barrier(const Shape& shape, ScheduleBuilder& builder);

}  // namespace hocket::algorithms
