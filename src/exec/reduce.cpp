#include "src/exec/reduce.hpp"

#include "src/exec/kernels/kernels.hpp"

namespace hocket {

ReduceKernel reduce_kernel(DataType dtype, ReduceOp op) {
  const DataTypeInfo* info = info_of(dtype);
  if (info == nullptr || !is_defined(dtype, op)) return nullptr;
  switch (info->kind) {
    case Kind::integer:
    case Kind::boolean: return kernels::integer(dtype, op);
    case Kind::floating:
    case Kind::complex: return kernels::floating(dtype, op);
    case Kind::narrow_float: return kernels::narrow_float(dtype, op);
    case Kind::located: return kernels::located(dtype, op);
  }
  return nullptr;
}

Reduction reduction_for(DataType dtype, ReduceOp op) {
  return {.kernel = reduce_kernel(dtype, op),
          .all = is_defined(dtype, op) ? kernels::all_narrow_float(dtype, op) : nullptr,
          .element_bytes = size_of(dtype),
          .swapped = false};
}

}  // namespace hocket
