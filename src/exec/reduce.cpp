#include "src/exec/reduce.hpp"

#include <algorithm>
#include <cstring>

#include "src/exec/kernels/kernels.hpp"

namespace hocket {
namespace {

// Null where the family has none, as for a type that is new; so are those that follow.
DivideKernel fast_divide_kernel(const DataTypeInfo& info) {
  switch (info.kind) {
    case Kind::floating:
    case Kind::complex: return kernels::divide_floating(info.dtype);
    case Kind::narrow_float: return kernels::divide_narrow_float(info.dtype);
    default: return nullptr;
  }
}

DivideKernel divide_kernel(const DataTypeInfo& info) {
  const DivideKernel fast = fast_divide_kernel(info);
  return fast != nullptr ? fast : kernels::divide_plain(info.dtype);
}

ReduceKernel fast_kernel(DataType dtype, ReduceOp op) {
  switch (info_of(dtype).kind) {
    case Kind::integer:
    case Kind::boolean: return kernels::integer(dtype, op);
    case Kind::floating:
    case Kind::complex: return kernels::floating(dtype, op);
    case Kind::narrow_float: return kernels::narrow_float(dtype, op);
    case Kind::located: return kernels::located(dtype, op);
    case Kind::opaque: break;
  }
  return nullptr;
}

}  // namespace

ReduceKernel reduce_kernel(DataType dtype, ReduceOp op) {
  if (info_of(op).takes == Takes::function || !is_defined(dtype, op)) return nullptr;
  const ReduceOp combining = info_of(op).combines_as;
  const ReduceKernel fast = fast_kernel(dtype, combining);
  return fast != nullptr ? fast : kernels::plain(dtype, combining);
}

Reduction reduction_for(DataType dtype, ReduceOp op, Rank ranks) {
  Reduction reduction{.kernel = reduce_kernel(dtype, op), .element_bytes = size_of(dtype)};
  if (reduction.kernel == nullptr) return reduction;
  if (info_of(dtype).kind == Kind::narrow_float) {
    reduction.all = kernels::all_narrow_float(dtype, info_of(op).combines_as);
  }
  if (is_rounded_in_sums(dtype, op)) reduction.wide = kernels::wide_narrow_float(dtype, info_of(op).combines_as);
  if (info_of(op).divides && ranks > 1) {
    reduction.divisor = static_cast<std::uint32_t>(ranks);
    reduction.divide = divide_kernel(info_of(dtype));
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
