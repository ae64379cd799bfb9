// How a probe measures collectives over shared memory.
#pragma once

#include "hocket/hocket.hpp"
#include "tools/plan/probe_direct.hpp"

namespace hocket {

// Both ranks of `pair` call each of these; figures are rank 0's. They throw Error as communication does.

// All but what is measured on one core or by single copy. Requires HOCKET_SINGLE_COPY=off when `pair` was made.
DirectFigures measure_direct(Communicator& pair);
// With HOCKET_SINGLE_COPY=on: fills in what is read, if plain memory can be.
void measure_reads(Communicator& pair, DirectFigures& into);
// Seconds of an allreduce of DirectFigures::small_bytes.
Figure measure_small(Communicator& pair);

}  // namespace hocket
