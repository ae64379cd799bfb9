// The kernels, by family; reduce.hpp is what others include. One source each, since vector code compiles slowly.
#pragma once

#include "src/spi/reduction.hpp"

namespace hocket::kernels {

// For the best instructions of this processor; null where the family does not have the pair.
ReduceKernel integer(DataType dtype, ReduceOp op);   // and bool
ReduceKernel floating(DataType dtype, ReduceOp op);  // 32 and 64 bits, and complex
ReduceKernel narrow_float(DataType dtype, ReduceOp op);
ReduceKernel located(DataType dtype, ReduceOp op);

// Without vector instructions; requires that the pair is defined.
ReduceKernel plain(DataType dtype, ReduceOp op);
ReduceAllKernel all_plain(DataType dtype, ReduceOp op);  // null but for narrow floats

ReduceAllKernel all_narrow_float(DataType dtype, ReduceOp op);

// Null but for reductions of narrow floats that round.
const WideKernels* wide_narrow_float(DataType dtype, ReduceOp op);
const WideKernels* wide_plain(DataType dtype, ReduceOp op);

DivideKernel divide_floating(DataType dtype);
DivideKernel divide_narrow_float(DataType dtype);
DivideKernel divide_plain(DataType dtype);  // integers too

}  // namespace hocket::kernels
