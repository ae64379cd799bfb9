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

// tree.cpp
void binomial_broadcast(const Shape& shape, Script& script);
void binomial_reduce(const Shape& shape, Script& script);

// direct.cpp
void one_shot_allreduce(const Shape& shape, Script& script);
void two_shot_allreduce(const Shape& shape, Script& script);
void linear_allreduce(const Shape& shape, Script& script);
void direct_reduce_scatter(const Shape& shape, Script& script);
void direct_allgather(const Shape& shape, Script& script);
void linear_scatter(const Shape& shape, Script& script);
void linear_gather(const Shape& shape, Script& script);
void pairwise_alltoall(const Shape& shape, Script& script);
void direct_send(const Shape& shape, Script& script);
void direct_recv(const Shape& shape, Script& script);

// two_level.cpp
void two_level_allreduce(const Shape& shape, Script& script);
void two_level_reduce_scatter(const Shape& shape, Script& script);
void two_level_allgather(const Shape& shape, Script& script);
void two_level_broadcast(const Shape& shape, Script& script);

// dissemination.cpp
void dissemination_barrier(const Shape& shape, Script& script);

}  // namespace hocket::algorithms
