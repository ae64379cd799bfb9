#include "src/exec/reduce.hpp"

#include <cstring>

// The part up to HWY_ONCE is compiled once for each instruction set, in a namespace of its own.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/exec/reduce.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hocket::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Memory is read and written as bytes, because callers' buffers have any alignment.
#if HWY_TARGET == HWY_SCALAR

template <class D>
hn::Vec<D> load(D d, const std::byte* from) {
  hn::TFromD<D> lane;
  std::memcpy(&lane, from, sizeof lane);
  return hn::Set(d, lane);
}

template <class D, class V>
void store(D, V vector, std::byte* to) {
  const auto lane = hn::GetLane(vector);
  std::memcpy(to, &lane, sizeof lane);
}

#else

template <class D>
hn::Vec<D> load(D d, const std::byte* from) {
  const hn::Repartition<std::uint8_t, D> bytes;
  return hn::BitCast(d, hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(from)));
}

template <class D, class V>
void store(D, V vector, std::byte* to) {
  const hn::Repartition<std::uint8_t, D> bytes;
  hn::StoreU(hn::BitCast(bytes, vector), bytes, reinterpret_cast<std::uint8_t*>(to));
}

#endif

inline constexpr std::uint32_t canonical_nan(float) {
  return 0x7FC00000;
}
inline constexpr std::uint64_t canonical_nan(double) {
  return 0x7FF8000000000000;
}

// `vector`, and the canonical NaN where `mask` is set.
template <class D, class M, class V>
V nan_where(D d, M mask, V vector) {
  const hn::RebindToUnsigned<D> bits;
  return hn::IfThenElse(mask, hn::BitCast(d, hn::Set(bits, canonical_nan(hn::TFromD<D>()))), vector);
}

struct Sum {
  template <class D, class V>
  static V apply(D d, V left, V right) {
    const V sum = hn::Add(left, right);
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) return nan_where(d, hn::IsNaN(sum), sum);
    return sum;
  }
};

struct Product {
  template <class D, class V>
  static V apply(D d, V left, V right) {
    if constexpr (sizeof(hn::TFromD<D>) == 1) {
      return bytes(d, left, right);
    } else {
      const V product = hn::Mul(left, right);
      if constexpr (hwy::IsFloat<hn::TFromD<D>>()) return nan_where(d, hn::IsNaN(product), product);
      return product;
    }
  }

  // No instruction multiplies bytes: the even and the odd ones are multiplied as 16-bit lanes.
  template <class D, class V>
  static V bytes(D d, V left, V right) {
#if HWY_TARGET == HWY_SCALAR
    return hn::Set(d, static_cast<std::uint8_t>(hn::GetLane(left) * hn::GetLane(right)));
#else
    const hn::Repartition<std::uint16_t, D> wide;
    const auto a = hn::BitCast(wide, left);
    const auto b = hn::BitCast(wide, right);
    const auto even = hn::And(hn::Mul(a, b), hn::Set(wide, std::uint16_t{0x00FF}));
    const auto odd = hn::ShiftLeft<8>(hn::Mul(hn::ShiftRight<8>(a), hn::ShiftRight<8>(b)));
    return hn::BitCast(d, hn::Or(even, odd));
#endif
  }
};

// Operands that compare equal differ at most in the sign of zero: `or` keeps a minus, `and` a plus.
struct Min {
  template <class D, class V>
  static V apply(D d, V left, V right) {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      const V least = hn::IfThenElse(hn::Eq(left, right), hn::Or(left, right), hn::Min(left, right));
      return nan_where(d, hn::Or(hn::IsNaN(left), hn::IsNaN(right)), least);
    }
    return hn::Min(left, right);
  }
};

struct Max {
  template <class D, class V>
  static V apply(D d, V left, V right) {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      const V greatest = hn::IfThenElse(hn::Eq(left, right), hn::And(left, right), hn::Max(left, right));
      return nan_where(d, hn::Or(hn::IsNaN(left), hn::IsNaN(right)), greatest);
    }
    return hn::Max(left, right);
  }
};

template <class T, class Op>
void reduce_less_than_a_vector(std::byte* to, const std::byte* left, const std::byte* right, std::size_t bytes) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t room = hn::MaxLanes(d) * sizeof(T);
  alignas(room) std::byte a[room] = {};
  alignas(room) std::byte b[room] = {};
  std::memcpy(a, left, bytes);
  std::memcpy(b, right, bytes);
  store(d, Op::apply(d, load(d, a), load(d, b)), a);
  std::memcpy(to, a, bytes);
}

template <class T, class Op>
void reduce(std::byte* to, const std::byte* left, const std::byte* right, std::size_t count) {
  const hn::ScalableTag<T> d;
  const std::size_t width = hn::Lanes(d) * sizeof(T);
  const std::size_t bytes = count * sizeof(T);
  if (bytes == 0) return;
  if (bytes < width) return reduce_less_than_a_vector<T, Op>(to, left, right, bytes);

  const auto at = [&](std::size_t offset)
                      HWY_ATTR { return Op::apply(d, load(d, left + offset), load(d, right + offset)); };
  // The loops below store to aligned addresses (as far as whole elements allow); what they miss at both ends is one
  // full vector each. These are computed first and stored last, because they share elements with the loops and `to` may
  // be one of the operands.
  const std::size_t last_offset = bytes - width;
  const auto first = at(0);
  const auto last = at(last_offset);
  std::size_t offset = (width - reinterpret_cast<std::uintptr_t>(to) % width) / sizeof(T) * sizeof(T);
  for (; offset + 4 * width <= bytes; offset += 4 * width) {
    const auto v0 = at(offset);
    const auto v1 = at(offset + width);
    const auto v2 = at(offset + 2 * width);
    const auto v3 = at(offset + 3 * width);
    store(d, v0, to + offset);
    store(d, v1, to + offset + width);
    store(d, v2, to + offset + 2 * width);
    store(d, v3, to + offset + 3 * width);
  }
  for (; offset < last_offset; offset += width) store(d, at(offset), to + offset);
  store(d, first, to);
  store(d, last, to + last_offset);
}

// `Wrapping` is the unsigned type of the same width for integers: sums and products have the same bits in it.
template <class T, class Wrapping = T>
ReduceKernel pick(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return &reduce<Wrapping, Sum>;
    case ReduceOp::prod: return &reduce<Wrapping, Product>;
    case ReduceOp::min: return &reduce<T, Min>;
    case ReduceOp::max: return &reduce<T, Max>;
  }
  return nullptr;
}

ReduceKernel find_kernel(DataType dtype, ReduceOp op) {
  switch (dtype) {
    case DataType::float32: return pick<float>(op);
    case DataType::float64: return pick<double>(op);
    case DataType::int32: return pick<std::int32_t, std::uint32_t>(op);
    case DataType::int64: return pick<std::int64_t, std::uint64_t>(op);
    case DataType::uint8: return pick<std::uint8_t>(op);
  }
  return nullptr;
}

}  // namespace
}  // namespace hocket::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace hocket {

HWY_EXPORT(find_kernel);

ReduceKernel reduce_kernel(DataType dtype, ReduceOp op) {
  return HWY_DYNAMIC_DISPATCH(find_kernel)(dtype, op);
}

Reduction reduction_for(DataType dtype, ReduceOp op) {
  return {.kernel = reduce_kernel(dtype, op), .element_bytes = size_of(dtype), .swapped = false};
}

}  // namespace hocket

#endif
