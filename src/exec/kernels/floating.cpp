// Kernels of float32, float64 and complex numbers.
#include "src/exec/kernels/targets.hpp"
//
#include "src/exec/kernels/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/exec/kernels/floating.cpp"
#include <hwy/foreach_target.h>
//
#include "src/exec/kernels/vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace hocket::HWY_NAMESPACE {
namespace {
#if HWY_TARGET == HWY_SCALAR

ReduceKernel find_floating(DataType dtype, ReduceOp op) {
  return kernels::plain(dtype, op);
}

DivideKernel find_divide_floating(DataType dtype) {
  return kernels::divide_plain(dtype);
}

#else

// (a + bi)(c + di) in lanes a, b and c, d. Both sums have the same bits the other way round.
struct ComplexProduct {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V left, V right) {
    const V straight = hn::Mul(left, hn::DupEven(right));                 // ac, bc
    const V crossed = hn::Mul(hn::Reverse2(d, left), hn::DupOdd(right));  // bd, ad
    const V product = hn::OddEven(hn::Add(straight, crossed), hn::Sub(straight, crossed));
    return nan_where(d, hn::IsNaN(product), product);
  }
};

template <class T>
ReduceKernel pick(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return &reduce_two<Plain<T>, Sum>;
    case ReduceOp::prod: return &reduce_two<Plain<T>, Product>;
    case ReduceOp::min: return &reduce_two<Plain<T>, Min>;
    case ReduceOp::max: return &reduce_two<Plain<T>, Max>;
    default: return nullptr;
  }
}

template <class T>
ReduceKernel pick_complex(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return &reduce_two<Plain<T, 2>, Sum>;
    case ReduceOp::prod: return &reduce_two<Plain<T, 2>, ComplexProduct>;
    default: return nullptr;
  }
}

ReduceKernel find_floating(DataType dtype, ReduceOp op) {
  switch (dtype) {
    case DataType::float32: return pick<float>(op);
    case DataType::float64: return pick<double>(op);
    case DataType::complex64: return pick_complex<float>(op);
    case DataType::complex128: return pick_complex<double>(op);
    default: return nullptr;
  }
}

// A part of a complex number is divided as any other float.
DivideKernel find_divide_floating(DataType dtype) {
  switch (dtype) {
    case DataType::float32: return &divide_all<Plain<float> >;
    case DataType::float64: return &divide_all<Plain<double> >;
    case DataType::complex64: return &divide_all<Plain<float, 2> >;
    case DataType::complex128: return &divide_all<Plain<double, 2> >;
    default: return nullptr;
  }
}

#endif
}  // namespace
}  // namespace hocket::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket {
HWY_EXPORT(find_floating);
HWY_EXPORT(find_divide_floating);
namespace kernels {

ReduceKernel floating(DataType dtype, ReduceOp op) {
  return HWY_DYNAMIC_DISPATCH(find_floating)(dtype, op);
}

DivideKernel divide_floating(DataType dtype) {
  return HWY_DYNAMIC_DISPATCH(find_divide_floating)(dtype);
}

}  // namespace kernels
}  // namespace hocket
#endif
