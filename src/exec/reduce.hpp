// Reduction kernels: the arithmetic of every (dtype, op) pair, for the best vector instructions of this processor.
//
// The result does not depend on which operand is left and which is right, bit for bit, so ranks that combine the same
// values the other way round agree:
//  - a NaN result is always the positive quiet NaN without payload;
//  - float min and max yield NaN if any operand is NaN, and order -0 below +0;
//  - integer sum and prod wrap modulo 2^bits;
//  - floats narrower than 32 bits are widened, combined as float32 and rounded to the nearest, ties to even: a kernel
//  of
//    two operands rounds each time, Reduction::all once for all operands, Reduction::wide not at all or at the end.
// src/base/elements.hpp says the same in plain code. Processors with different vector widths give equal bits too: every
// element is computed alone, and products and sums are not fused.
#pragma once

#include "src/spi/transport.hpp"
#include "src/spi/types.hpp"

namespace hocket {

// Null where is_defined(dtype, op) is false, and for the caller's own. Any thread. The kernel needs no alignment; `to`
// may be left or right, but may not overlap them otherwise.
ReduceKernel reduce_kernel(DataType dtype, ReduceOp op);

// The kernel with its element size, not swapped, and what an average of `ranks` operands ends with.
Reduction reduction_for(DataType dtype, ReduceOp op, Rank ranks);

// to = from times the scalar, one element of the type. Requires that ReduceOp::prod is defined for it.
void scale(DataType dtype, std::byte* to, const std::byte* from, std::size_t count, const void* scalar);

}  // namespace hocket
