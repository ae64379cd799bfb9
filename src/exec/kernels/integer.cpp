// Kernels of integers and bools.
#include "src/exec/kernels/targets.hpp"
//
#include "src/exec/kernels/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/exec/kernels/integer.cpp"
#include <hwy/foreach_target.h>
//
#include "src/exec/kernels/vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace hocket::HWY_NAMESPACE {
namespace {
#if HWY_TARGET == HWY_SCALAR

ReduceKernel find_integer(DataType dtype, ReduceOp op) {
  return kernels::plain(dtype, op);
}

#else

struct BitwiseAnd {
  template <class D, class V>
  static HWY_INLINE V apply(D, V left, V right) {
    return hn::And(left, right);
  }
};

struct BitwiseOr {
  template <class D, class V>
  static HWY_INLINE V apply(D, V left, V right) {
    return hn::Or(left, right);
  }
};

struct BitwiseXor {
  template <class D, class V>
  static HWY_INLINE V apply(D, V left, V right) {
    return hn::Xor(left, right);
  }
};

template <class D, class V>
HWY_INLINE auto is_true(D d, V vector) {
  return hn::Ne(vector, hn::Zero(d));
}

template <class D, class M>
HWY_INLINE auto one_where(D d, M mask) {
  return hn::IfThenElseZero(mask, hn::Set(d, hn::TFromD<D>{1}));
}

struct LogicalAnd {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V left, V right) {
    return one_where(d, hn::And(is_true(d, left), is_true(d, right)));
  }
};

struct LogicalOr {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V left, V right) {
    return one_where(d, is_true(d, hn::Or(left, right)));
  }
};

struct LogicalXor {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V left, V right) {
    return one_where(d, hn::Xor(is_true(d, left), is_true(d, right)));
  }
};

// Only comparisons see the sign: all else has the same bits in the unsigned type of the same width.
template <class T>
ReduceKernel pick(ReduceOp op) {
  using Unsigned = hwy::MakeUnsigned<T>;
  switch (op) {
    case ReduceOp::sum: return &reduce_two<Plain<Unsigned>, Sum>;
    case ReduceOp::prod: return &reduce_two<Plain<Unsigned>, Product>;
    case ReduceOp::min: return &reduce_two<Plain<T>, Min>;
    case ReduceOp::max: return &reduce_two<Plain<T>, Max>;
    case ReduceOp::band: return &reduce_two<Plain<Unsigned>, BitwiseAnd>;
    case ReduceOp::bor: return &reduce_two<Plain<Unsigned>, BitwiseOr>;
    case ReduceOp::bxor: return &reduce_two<Plain<Unsigned>, BitwiseXor>;
    case ReduceOp::land: return &reduce_two<Plain<Unsigned>, LogicalAnd>;
    case ReduceOp::lor: return &reduce_two<Plain<Unsigned>, LogicalOr>;
    default: return nullptr;
  }
}

ReduceKernel pick_bool(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::max:
    case ReduceOp::bor:
    case ReduceOp::lor: return &reduce_two<Plain<std::uint8_t>, LogicalOr>;
    case ReduceOp::prod:
    case ReduceOp::min:
    case ReduceOp::band:
    case ReduceOp::land: return &reduce_two<Plain<std::uint8_t>, LogicalAnd>;
    case ReduceOp::bxor: return &reduce_two<Plain<std::uint8_t>, LogicalXor>;
    default: return nullptr;
  }
}

ReduceKernel find_integer(DataType dtype, ReduceOp op) {
  switch (dtype) {
    case DataType::int8: return pick<std::int8_t>(op);
    case DataType::int16: return pick<std::int16_t>(op);
    case DataType::int32: return pick<std::int32_t>(op);
    case DataType::int64: return pick<std::int64_t>(op);
    case DataType::uint8: return pick<std::uint8_t>(op);
    case DataType::uint16: return pick<std::uint16_t>(op);
    case DataType::uint32: return pick<std::uint32_t>(op);
    case DataType::uint64: return pick<std::uint64_t>(op);
    case DataType::boolean: return pick_bool(op);
    default: return nullptr;
  }
}

#endif
}  // namespace
}  // namespace hocket::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket {
HWY_EXPORT(find_integer);
namespace kernels {

ReduceKernel integer(DataType dtype, ReduceOp op) {
  return HWY_DYNAMIC_DISPATCH(find_integer)(dtype, op);
}

}  // namespace kernels
}  // namespace hocket
#endif
