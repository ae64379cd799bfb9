// Kernels of values with a location. A value and its index are two lanes of equal width, side by side.
#include "src/exec/kernels/targets.hpp"
//
#include "src/exec/kernels/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/exec/kernels/located.cpp"
#include <hwy/foreach_target.h>
//
#include "src/exec/kernels/vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace hocket::HWY_NAMESPACE {
namespace {
#if HWY_TARGET == HWY_SCALAR

ReduceKernel find_located(DataType dtype, ReduceOp op) {
  return kernels::plain(dtype, op);
}

#else

// `Value` is what the even lanes are; all lanes are loaded as integers of the same width. Every value has a key, an
// integer that orders it: so -0 lies below +0, and NaN where it wins.
template <class Value, bool greatest>
struct BestLocated {
  using Integer = hwy::MakeSigned<Value>;
  static constexpr Integer lowest = hwy::LimitsMin<Integer>(), highest = hwy::LimitsMax<Integer>();

  template <class D, class V>
  static HWY_INLINE V apply(D d, V left, V right) {
    const V left_keys = keys(d, left), right_keys = keys(d, right);
    const V ahead = hn::VecFromMask(d, greatest ? hn::Gt(left_keys, right_keys) : hn::Lt(left_keys, right_keys));
    const V level = hn::VecFromMask(d, hn::Eq(left_keys, right_keys));
    const V first = hn::VecFromMask(d, hn::Lt(left, right));  // in the lanes of indices
    const V takes_left = hn::Or(hn::DupEven(ahead), hn::And(hn::DupEven(level), hn::DupOdd(first)));
    return canonical(d, hn::IfThenElse(hn::MaskFromVec(takes_left), left, right));
  }

 private:
  template <class D, class V>
  static HWY_INLINE auto is_nan(D d, V lanes) {
    return hn::Gt(hn::And(lanes, hn::Set(d, highest)), hn::Set(d, infinity()));
  }
  // Bits of floats without the sign are in order; negative ones in reverse.
  template <class D, class V>
  static HWY_INLINE V keys(D d, V lanes) {
    if constexpr (!hwy::IsFloat<Value>()) return lanes;
    const V negative = hn::BroadcastSignBit(lanes);
    const V ordered = hn::Xor(lanes, hn::And(negative, hn::Set(d, highest)));
    return hn::IfThenElse(is_nan(d, lanes), hn::Set(d, greatest ? highest : lowest), ordered);
  }
  template <class D, class V>
  static HWY_INLINE V canonical(D d, V lanes) {
    if constexpr (hwy::IsFloat<Value>()) {
      const V nan = hn::Set(d, static_cast<Integer>(canonical_nan(Value())));
      return hn::OddEven(lanes, hn::IfThenElse(is_nan(d, lanes), nan, lanes));
    } else {
      return lanes;
    }
  }
  static constexpr Integer infinity() {
    if constexpr (sizeof(Integer) == 4) {
      return 0x7F800000;
    } else {
      return 0x7FF0000000000000;
    }
  }
};

template <class Value>
ReduceKernel pick(ReduceOp op) {
  using Pairs = Plain<hwy::MakeSigned<Value>, 2>;
  switch (op) {
    case ReduceOp::minloc: return &reduce_two<Pairs, BestLocated<Value, false> >;
    case ReduceOp::maxloc: return &reduce_two<Pairs, BestLocated<Value, true> >;
    default: return nullptr;
  }
}

ReduceKernel find_located(DataType dtype, ReduceOp op) {
  switch (dtype) {
    case DataType::float32_int32: return pick<float>(op);
    case DataType::float64_int64: return pick<double>(op);
    case DataType::int32_int32: return pick<std::int32_t>(op);
    case DataType::int64_int64: return pick<std::int64_t>(op);
    default: return nullptr;
  }
}

#endif
}  // namespace
}  // namespace hocket::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket {
HWY_EXPORT(find_located);
namespace kernels {

ReduceKernel located(DataType dtype, ReduceOp op) {
  return HWY_DYNAMIC_DISPATCH(find_located)(dtype, op);
}

}  // namespace kernels
}  // namespace hocket
#endif
