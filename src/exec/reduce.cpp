#include "src/exec/reduce.hpp"

#include <algorithm>
#include <cstring>

#include "src/exec/kernels/kernels.hpp"

namespace hocket {
namespace {

// What two operands of `op` are combined with.
ReduceOp combining(ReduceOp op) {
  return op == ReduceOp::avg || op == ReduceOp::premultiplied_sum ? ReduceOp::sum : op;
}

DivideKernel divide_kernel(const DataTypeInfo& info) {
  switch (info.kind) {
    case Kind::floating:
    case Kind::complex: return kernels::divide_floating(info.dtype);
    case Kind::narrow_float: return kernels::divide_narrow_float(info.dtype);
    default: return kernels::divide_plain(info.dtype);
  }
}

}  // namespace

ReduceKernel reduce_kernel(DataType dtype, ReduceOp op) {
  const DataTypeInfo* info = info_of(dtype);
  if (info == nullptr || op == ReduceOp::user || !is_defined(dtype, op)) return nullptr;
  switch (info->kind) {
    case Kind::integer:
    case Kind::boolean: return kernels::integer(dtype, combining(op));
    case Kind::floating:
    case Kind::complex: return kernels::floating(dtype, combining(op));
    case Kind::narrow_float: return kernels::narrow_float(dtype, combining(op));
    case Kind::located: return kernels::located(dtype, op);
  }
  return nullptr;
}

Reduction reduction_for(DataType dtype, ReduceOp op, Rank ranks) {
  Reduction reduction{.kernel = reduce_kernel(dtype, op), .element_bytes = size_of(dtype)};
  if (reduction.kernel == nullptr) return reduction;
  if (info_of(dtype)->kind == Kind::narrow_float) reduction.all = kernels::all_narrow_float(dtype, combining(op));
  if (op == ReduceOp::avg && ranks > 1) {
    reduction.divisor = static_cast<std::uint32_t>(ranks);
    reduction.divide = divide_kernel(*info_of(dtype));
  }
  return reduction;
}

void scale(DataType dtype, std::byte* to, const std::byte* from, std::size_t count, const void* scalar) {
  // The kernel of products, with the scalar over and over as its other operand.
  constexpr std::size_t block_bytes = 4096;
  const std::size_t element_bytes = size_of(dtype), block = block_bytes / element_bytes;
  alignas(64) std::byte scalars[block_bytes];
  for (std::size_t i = 0; i < std::min(block, count); ++i) {
    std::memcpy(scalars + i * element_bytes, scalar, element_bytes);
  }
  const ReduceKernel product = reduce_kernel(dtype, ReduceOp::prod);
  for (std::size_t at = 0; at < count; at += block) {
    const std::size_t offset = at * element_bytes;
    product(to + offset, from + offset, scalars, std::min(block, count - at));
  }
}

}  // namespace hocket
