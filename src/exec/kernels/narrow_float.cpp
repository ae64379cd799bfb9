// Kernels of floats narrower than 32 bits: each vector is widened to float32, combined there, and rounded once.
#include "src/exec/kernels/targets.hpp"
//
#include "src/exec/kernels/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/exec/kernels/narrow_float.cpp"
#include <hwy/foreach_target.h>
//
#include "src/exec/kernels/vectors.hpp"

HWY_BEFORE_NAMESPACE();
namespace hocket::HWY_NAMESPACE {
namespace {
#if HWY_TARGET == HWY_SCALAR

ReduceKernel find_narrow_float(DataType dtype, ReduceOp op) {
  return kernels::plain(dtype, op);
}

ReduceAllKernel find_all_narrow_float(DataType dtype, ReduceOp op) {
  return kernels::all_plain(dtype, op);
}

const WideKernels* find_wide_narrow_float(DataType dtype, ReduceOp op) {
  return kernels::wide_plain(dtype, op);
}

DivideKernel find_divide_narrow_float(DataType dtype) {
  return kernels::divide_plain(dtype);
}

#else

constexpr std::uint32_t bits_of_power_of_two(int exponent) {
  return static_cast<std::uint32_t>(exponent + 127) << 23;
}

// Floats with a sign, `exponent_bits` and `fraction_bits`, in lanes of `Bits`. Without infinities the largest bits are
// NaN, and what is too large becomes NaN. With integer instructions alone, so that neither the instruction set nor the
// processor's treatment of subnormal numbers changes a result.
template <class Bits, int exponent_bits, int fraction_bits, bool infinities>
struct Narrow {
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;
  using DWide = hn::RebindToUnsigned<D>;
  using DSigned = hn::RebindToSigned<D>;
  using DMemory = hn::Rebind<Bits, D>;
  static constexpr std::size_t element_bytes = sizeof(Bits);
  static constexpr std::size_t vector_bytes = hn::MaxLanes(D()) * sizeof(Bits);

  static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  static constexpr int shift = 23 - fraction_bits;                       // of fractions
  static constexpr int sign_shift = 31 - exponent_bits - fraction_bits;  // of signs
  static constexpr std::uint32_t exponent_gap = std::uint32_t{127 - bias} << 23;
  static constexpr std::uint32_t magnitude_mask = (1U << (exponent_bits + fraction_bits)) - 1;
  static constexpr std::uint32_t infinity = ((1U << exponent_bits) - 1) << fraction_bits;
  static constexpr std::uint32_t nan = infinities ? infinity | (1U << (fraction_bits - 1)) : magnitude_mask;
  static constexpr std::uint32_t first_normal = 1U << fraction_bits;

  static HWY_INLINE V load(const std::byte* from) {
    const D d;
    const DWide wide;
    const DSigned signed_wide;
    const auto bits = hn::PromoteTo(wide, hn::LoadU(DMemory(), reinterpret_cast<const Bits*>(from)));
    if constexpr (exponent_bits == 8) return hn::BitCast(d, hn::ShiftLeft<16>(bits));
    const auto magnitude = hn::And(bits, hn::Set(wide, magnitude_mask));
    const auto sign = hn::ShiftLeft<sign_shift>(hn::Xor(bits, magnitude));
    const auto normal = hn::Add(hn::ShiftLeft<shift>(magnitude), hn::Set(wide, exponent_gap));
    const auto in_order = hn::BitCast(signed_wide, magnitude);
    // Subnormal numbers are whole multiples of the smallest.
    const V unit = hn::BitCast(d, hn::Set(wide, bits_of_power_of_two(1 - bias - fraction_bits)));
    const auto subnormal = hn::BitCast(wide, hn::Mul(hn::ConvertTo(d, in_order), unit));
    const auto is_subnormal = hn::RebindMask(wide, hn::Lt(in_order, hn::Set(signed_wide, std::int32_t{first_normal})));
    // Infinity and NaN: all bits of the exponent are set.
    const std::int32_t first_special = static_cast<std::int32_t>(infinities ? infinity : nan);
    const auto is_special =
        hn::RebindMask(wide, hn::Gt(in_order, hn::Set(signed_wide, static_cast<std::int32_t>(first_special - 1))));
    const auto special = hn::Or(normal, hn::Set(wide, 0x7F800000U));
    const auto number = hn::IfThenElse(is_subnormal, subnormal, normal);
    return hn::BitCast(d, hn::Or(hn::IfThenElse(is_special, special, number), sign));
  }

  // Rounds to the nearest, ties to even.
  static HWY_INLINE void store(V vector, std::byte* to) {
    const D d;
    const DWide wide;
    const DSigned signed_wide;
    const auto all_bits = hn::BitCast(wide, vector);
    const auto size = hn::And(all_bits, hn::Set(wide, 0x7FFFFFFFU));
    const auto sign = hn::ShiftRight<sign_shift>(hn::Xor(all_bits, size));
    const auto last_place = hn::And(hn::ShiftRight<shift>(size), hn::Set(wide, 1U));
    const auto half = hn::Set(wide, (1U << (shift - 1)) - 1);
    auto rounded = hn::ShiftRight<shift>(hn::Add(size, hn::Add(last_place, half)));
    if constexpr (exponent_bits < 8) {
      rounded = hn::Sub(rounded, hn::Set(wide, exponent_gap >> shift));
      // Adding a number whose last place is the smallest subnormal number lets the processor round to that.
      const auto anchor = hn::Set(wide, bits_of_power_of_two(24 - bias - fraction_bits));
      const auto anchored = hn::BitCast(wide, hn::Add(hn::BitCast(d, size), hn::BitCast(d, anchor)));
      const auto is_subnormal = hn::Lt(hn::BitCast(signed_wide, size),
                                       hn::Set(signed_wide, static_cast<std::int32_t>(bits_of_power_of_two(1 - bias))));
      rounded = hn::IfThenElse(hn::RebindMask(wide, is_subnormal), hn::Sub(anchored, anchor), rounded);
      // Too large: infinity, or else NaN.
      const auto limit = hn::Set(signed_wide, static_cast<std::int32_t>(infinities ? infinity : nan));
      rounded = hn::BitCast(wide, hn::Min(hn::BitCast(signed_wide, rounded), limit));
    }
    const auto is_nan = infinities ? hn::RebindMask(wide, hn::IsNaN(vector)) : hn::Eq(rounded, hn::Set(wide, nan));
    rounded = hn::IfThenElse(is_nan, hn::Set(wide, nan), hn::Or(rounded, sign));
    hn::StoreU(hn::DemoteTo(DMemory(), hn::BitCast(signed_wide, rounded)), DMemory(), reinterpret_cast<Bits*>(to));
  }
};

// A ReduceKernel but for the elements of `left` and `to`.
template <class Left, class Right, class To, class Op>
void reduce_wide(std::byte* to, const std::byte* left, const std::byte* right, std::size_t count) {
  constexpr std::size_t lanes = Right::vector_bytes / Right::element_bytes;
  const typename Right::D d;
  for (; count >= lanes; count -= lanes) {
    To::store(Op::apply(d, Left::load(left), Right::load(right)), to);
    left += Left::vector_bytes;
    right += Right::vector_bytes;
    to += To::vector_bytes;
  }
  if (count == 0) return;
  alignas(64) std::byte left_room[Left::vector_bytes] = {}, right_room[Right::vector_bytes] = {};
  alignas(64) std::byte to_room[To::vector_bytes];
  std::memcpy(left_room, left, count * Left::element_bytes);
  std::memcpy(right_room, right, count * Right::element_bytes);
  To::store(Op::apply(d, Left::load(left_room), Right::load(right_room)), to_room);
  std::memcpy(to, to_room, count * To::element_bytes);
}

template <class Elements, class Op>
constexpr WideKernels wide_kernels = {.begin = &reduce_wide<Elements, Elements, Plain<float>, Op>,
                                      .add = &reduce_wide<Plain<float>, Elements, Plain<float>, Op>,
                                      .end = &reduce_wide<Plain<float>, Elements, Elements, Op>};

template <class Elements>
struct Kernels {
  static const WideKernels* wide(ReduceOp op) {
    switch (op) {
      case ReduceOp::sum: return &wide_kernels<Elements, Sum>;
      case ReduceOp::prod: return &wide_kernels<Elements, Product>;
      default: return nullptr;
    }
  }
  static DivideKernel divide() { return &divide_all<Elements>; }
  static ReduceKernel two(ReduceOp op) {
    switch (op) {
      case ReduceOp::sum: return &reduce_two<Elements, Sum>;
      case ReduceOp::prod: return &reduce_two<Elements, Product>;
      case ReduceOp::min: return &reduce_two<Elements, Min>;
      case ReduceOp::max: return &reduce_two<Elements, Max>;
      default: return nullptr;
    }
  }
  static ReduceAllKernel all(ReduceOp op) {
    switch (op) {
      case ReduceOp::sum: return &reduce_all<Elements, Sum>;
      case ReduceOp::prod: return &reduce_all<Elements, Product>;
      case ReduceOp::min: return &reduce_all<Elements, Min>;
      case ReduceOp::max: return &reduce_all<Elements, Max>;
      default: return nullptr;
    }
  }
};

using Float16 = Kernels<Narrow<std::uint16_t, 5, 10, true> >;
using BFloat16 = Kernels<Narrow<std::uint16_t, 8, 7, true> >;
using Float8E4M3 = Kernels<Narrow<std::uint8_t, 4, 3, false> >;
using Float8E5M2 = Kernels<Narrow<std::uint8_t, 5, 2, true> >;

ReduceKernel find_narrow_float(DataType dtype, ReduceOp op) {
  switch (dtype) {
    case DataType::float16: return Float16::two(op);
    case DataType::bfloat16: return BFloat16::two(op);
    case DataType::float8_e4m3: return Float8E4M3::two(op);
    case DataType::float8_e5m2: return Float8E5M2::two(op);
    default: return nullptr;
  }
}

ReduceAllKernel find_all_narrow_float(DataType dtype, ReduceOp op) {
  switch (dtype) {
    case DataType::float16: return Float16::all(op);
    case DataType::bfloat16: return BFloat16::all(op);
    case DataType::float8_e4m3: return Float8E4M3::all(op);
    case DataType::float8_e5m2: return Float8E5M2::all(op);
    default: return nullptr;
  }
}

const WideKernels* find_wide_narrow_float(DataType dtype, ReduceOp op) {
  switch (dtype) {
    case DataType::float16: return Float16::wide(op);
    case DataType::bfloat16: return BFloat16::wide(op);
    case DataType::float8_e4m3: return Float8E4M3::wide(op);
    case DataType::float8_e5m2: return Float8E5M2::wide(op);
    default: return nullptr;
  }
}

DivideKernel find_divide_narrow_float(DataType dtype) {
  switch (dtype) {
    case DataType::float16: return Float16::divide();
    case DataType::bfloat16: return BFloat16::divide();
    case DataType::float8_e4m3: return Float8E4M3::divide();
    case DataType::float8_e5m2: return Float8E5M2::divide();
    default: return nullptr;
  }
}

#endif
}  // namespace
}  // namespace hocket::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket {
HWY_EXPORT(find_narrow_float);
HWY_EXPORT(find_divide_narrow_float);
HWY_EXPORT(find_all_narrow_float);
HWY_EXPORT(find_wide_narrow_float);
namespace kernels {

ReduceKernel narrow_float(DataType dtype, ReduceOp op) {
  return HWY_DYNAMIC_DISPATCH(find_narrow_float)(dtype, op);
}

ReduceAllKernel all_narrow_float(DataType dtype, ReduceOp op) {
  return HWY_DYNAMIC_DISPATCH(find_all_narrow_float)(dtype, op);
}

const WideKernels* wide_narrow_float(DataType dtype, ReduceOp op) {
  return HWY_DYNAMIC_DISPATCH(find_wide_narrow_float)(dtype, op);
}

DivideKernel divide_narrow_float(DataType dtype) {
  return HWY_DYNAMIC_DISPATCH(find_divide_narrow_float)(dtype);
}

}  // namespace kernels
}  // namespace hocket
#endif
