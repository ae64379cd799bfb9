// What the kernels' sources share: elements in memory as vectors of lanes, and the loop over them. Compiled once for
// each instruction set, in a namespace of its own; for the sources of this folder alone.
#if defined(HOCKET_EXEC_KERNELS_VECTORS_HPP) == defined(HWY_TARGET_TOGGLE)  // once for each instruction set
#ifdef HOCKET_EXEC_KERNELS_VECTORS_HPP
#undef HOCKET_EXEC_KERNELS_VECTORS_HPP
#else
#define HOCKET_EXEC_KERNELS_VECTORS_HPP
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#if HWY_TARGET != HWY_SCALAR  // there kernels are plain
HWY_BEFORE_NAMESPACE();
namespace hocket::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Memory is read and written as bytes, because callers' buffers have any alignment.
template <class D>
HWY_INLINE hn::Vec<D> load_bytes(D d, const std::byte* from) {
  const hn::Repartition<std::uint8_t, D> bytes;
  return hn::BitCast(d, hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(from)));
}

template <class D, class V>
HWY_INLINE void store_bytes(D, V vector, std::byte* to) {
  const hn::Repartition<std::uint8_t, D> bytes;
  hn::StoreU(hn::BitCast(bytes, vector), bytes, reinterpret_cast<std::uint8_t*>(to));
}

// Elements that are vectors as they lie in memory: of one lane, or of two that belong together.
template <class T, std::size_t lanes = 1, class Tag = hn::ScalableTag<T>>
struct Plain {
  using D = Tag;
  using V = hn::Vec<D>;
  static constexpr std::size_t element_bytes = sizeof(T) * lanes;
  static constexpr std::size_t vector_bytes = hn::MaxLanes(D()) * sizeof(T);
  static HWY_INLINE V load(const std::byte* from) { return load_bytes(D(), from); }
  static HWY_INLINE void store(V vector, std::byte* to) { store_bytes(D(), vector, to); }
};

// The same, one element in a vector. Smaller ones do not fill the lanes that some operations need.
template <class Elements>
struct OneByOne {
  static constexpr bool possible = false;
};
template <class T, std::size_t lanes>
struct OneByOne<Plain<T, lanes>> {
  static constexpr bool possible = sizeof(T) >= 4;
  using Each = Plain<T, lanes, hn::CappedTag<T, lanes>>;
};

inline constexpr std::uint32_t canonical_nan(float) {
  return 0x7FC00000;
}
inline constexpr std::uint64_t canonical_nan(double) {
  return 0x7FF8000000000000;
}

// `vector`, and the canonical NaN where `mask` is set.
template <class D, class M, class V>
HWY_INLINE V nan_where(D d, M mask, V vector) {
  const hn::RebindToUnsigned<D> bits;
  return hn::IfThenElse(mask, hn::BitCast(d, hn::Set(bits, canonical_nan(hn::TFromD<D>()))), vector);
}

struct Sum {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V left, V right) {
    const V sum = hn::Add(left, right);
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) return nan_where(d, hn::IsNaN(sum), sum);
    return sum;
  }
};

struct Product {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V left, V right) {
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
  static HWY_INLINE V bytes(D d, V left, V right) {
    const hn::Repartition<std::uint16_t, D> wide;
    const auto a = hn::BitCast(wide, left);
    const auto b = hn::BitCast(wide, right);
    const auto even = hn::And(hn::Mul(a, b), hn::Set(wide, std::uint16_t{0x00FF}));
    const auto odd = hn::ShiftLeft<8>(hn::Mul(hn::ShiftRight<8>(a), hn::ShiftRight<8>(b)));
    return hn::BitCast(d, hn::Or(even, odd));
  }
};

// Floats that compare equal differ at most in the sign of zero: `or` keeps a minus, `and` a plus.
struct Min {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V left, V right) {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      const V least = hn::IfThenElse(hn::Eq(left, right), hn::Or(left, right), hn::Min(left, right));
      return nan_where(d, hn::Or(hn::IsNaN(left), hn::IsNaN(right)), least);
    }
    return hn::Min(left, right);
  }
};

struct Max {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V left, V right) {
    if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
      const V greatest = hn::IfThenElse(hn::Eq(left, right), hn::And(left, right), hn::Max(left, right));
      return nan_where(d, hn::Or(hn::IsNaN(left), hn::IsNaN(right)), greatest);
    }
    return hn::Max(left, right);
  }
};

// Of floats.
template <class D, class V>
HWY_INLINE V divide(D d, V vector, std::uint32_t divisor) {
  const V quotient = hn::Div(vector, hn::Set(d, static_cast<hn::TFromD<D>>(divisor)));
  return nan_where(d, hn::IsNaN(quotient), quotient);
}

// What is folded, and by what number the result is divided.
struct Operands {
  const std::byte* const* sources;
  std::size_t number;
  std::size_t offset;  // bytes
  std::uint32_t divisor;
};

// One vector: all sources, `at` bytes further on, in their order.
template <class Elements, class Op>
HWY_INLINE auto fold(const Operands& operands, std::size_t at) {
  const typename Elements::D d;
  auto sum = Elements::load(operands.sources[0] + operands.offset + at);
  for (std::size_t i = 1; i < operands.number; ++i) {
    sum = Op::apply(d, sum, Elements::load(operands.sources[i] + operands.offset + at));
  }
  if constexpr (hwy::IsFloat<hn::TFromD<typename Elements::D>>()) {
    if (operands.divisor != 1) sum = divide(d, sum, operands.divisor);
  }
  return sum;
}

template <class Elements, class Op>
void fold_less_than_a_vector(std::byte* to, const Operands& operands, std::size_t bytes) {
  const typename Elements::D d;
  alignas(64) std::byte room[Elements::vector_bytes] = {};
  std::memcpy(room, operands.sources[0] + operands.offset, bytes);
  auto sum = Elements::load(room);
  for (std::size_t i = 1; i < operands.number; ++i) {
    std::memcpy(room, operands.sources[i] + operands.offset, bytes);
    sum = Op::apply(d, sum, Elements::load(room));
  }
  if constexpr (hwy::IsFloat<hn::TFromD<typename Elements::D>>()) {
    if (operands.divisor != 1) sum = divide(d, sum, operands.divisor);
  }
  Elements::store(sum, room);
  std::memcpy(to, room, bytes);
}

// So few elements are done sooner one after the other than copied to where a vector is loaded from.
inline constexpr std::size_t few = 2;

template <class Each, class Op>
HWY_INLINE void fold_few(std::byte* to, const Operands& operands, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += Each::element_bytes) Each::store(fold<Each, Op>(operands, at), to + at);
}

// to = the operands' first `count` elements, folded; `to` may be where one of them lies.
template <class Elements, class Op>
HWY_INLINE void fold_all(std::byte* to, const Operands& operands, std::size_t count) {
  constexpr std::size_t width = Elements::vector_bytes, unit = Elements::element_bytes;
  const std::size_t bytes = count * unit;
  if (bytes == 0) return;
  if constexpr (OneByOne<Elements>::possible) {
    if (count <= few) return fold_few<typename OneByOne<Elements>::Each, Op>(to, operands, bytes);
  }
  if (bytes < width) return fold_less_than_a_vector<Elements, Op>(to, operands, bytes);

  // The loops below store to aligned addresses (as far as whole elements allow); what they miss at both ends is one
  // full vector each. These are computed first and stored last, because they share elements with the loops and `to` may
  // be one of the operands.
  const std::size_t last_at = bytes - width;
  const auto first = fold<Elements, Op>(operands, 0);
  const auto last = fold<Elements, Op>(operands, last_at);
  std::size_t at = (width - reinterpret_cast<std::uintptr_t>(to) % width) / unit * unit;
  for (; at + 4 * width <= bytes; at += 4 * width) {
    const auto v0 = fold<Elements, Op>(operands, at);
    const auto v1 = fold<Elements, Op>(operands, at + width);
    const auto v2 = fold<Elements, Op>(operands, at + 2 * width);
    const auto v3 = fold<Elements, Op>(operands, at + 3 * width);
    Elements::store(v0, to + at);
    Elements::store(v1, to + at + width);
    Elements::store(v2, to + at + 2 * width);
    Elements::store(v3, to + at + 3 * width);
  }
  for (; at < last_at; at += width) Elements::store(fold<Elements, Op>(operands, at), to + at);
  Elements::store(first, to);
  Elements::store(last, to + last_at);
}

// A ReduceKernel.
template <class Elements, class Op>
void reduce_two(std::byte* to, const std::byte* left, const std::byte* right, std::size_t count) {
  const std::byte* const sources[] = {left, right};
  fold_all<Elements, Op>(to, {sources, 2, 0, 1}, count);
}

// A ReduceAllKernel.
template <class Elements, class Op>
void reduce_all(std::byte* to, const std::byte* const* sources, std::size_t number, std::size_t offset,
                std::size_t count, std::uint32_t divisor) {
  fold_all<Elements, Op>(to, {sources, number, offset, divisor}, count);
}

// A DivideKernel.
template <class Elements>
void divide_all(std::byte* data, std::size_t count, std::uint32_t divisor) {
  const std::byte* const source = data;
  fold_all<Elements, Sum>(data, {&source, 1, 0, divisor}, count);
}

}  // namespace
}  // namespace hocket::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
