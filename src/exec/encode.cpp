#include "src/exec/encode.hpp"

#include <algorithm>
#include <cstring>

// The part up to HWY_ONCE is compiled once for each instruction set, in a namespace of its own.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/exec/encode.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hocket::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Whole vectors fit into a block.
using Floats = hn::CappedTag<float, 16>;
using Words = hn::RebindToSigned<Floats>;
constexpr std::size_t block = wire_block_elements;
constexpr float largest_scale = 0x1.020406p121F;  // 127 of them are a finite number

constexpr std::int32_t exponent_bits = 0x7F800000;  // also the bits of infinity: all above are NaNs
constexpr std::int32_t magnitude_bits = 0x7FFFFFFF;
constexpr std::int32_t quiet_nan_bits = 0x7FC00000;

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

// A sum as the reduction kernels take it: NaNs are the positive quiet one.
template <class V>
V add(V left, V right) {
  const Floats d;
  const V sum = hn::Add(left, right);
  return hn::IfThenElse(hn::IsNaN(sum), hn::BitCast(d, hn::Set(Words(), quiet_nan_bits)), sum);
}

// A format encodes one block, and decodes one into vectors that it hands to `take` with the place of their first float.
struct Bfloat16 {
  static constexpr WireFormat wire = WireFormat::bfloat16;

  static void encode_block(std::byte* encoded, const std::byte* floats) {
    const Words words;
    const hn::Rebind<std::uint16_t, Words> halves;
    const auto infinity = hn::Set(words, exponent_bits);
    for (std::size_t i = 0; i < block; i += hn::Lanes(words)) {
      const auto bits = load(words, floats + 4 * i);
      const auto is_nan = hn::Gt(hn::And(bits, hn::Set(words, magnitude_bits)), infinity);
      const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1));
      const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(words, 0x7FFF)));
      const auto kept = hn::IfThenElse(is_nan, hn::Set(words, quiet_nan_bits), rounded);
      // Without the sign's copies the conversion, which saturates, keeps all 16 bits.
      const auto upper = hn::And(hn::ShiftRight<16>(kept), hn::Set(words, 0xFFFF));
      store(halves, hn::DemoteTo(halves, upper), encoded + 2 * i);
    }
  }

  template <class Take>
  static void decode_block(const std::byte* encoded, Take take) {
    const Words words;
    const hn::Rebind<std::uint16_t, Words> halves;
    for (std::size_t i = 0; i < block; i += hn::Lanes(words)) {
      const auto bits = hn::ShiftLeft<16>(hn::PromoteTo(words, load(halves, encoded + 2 * i)));
      take(i, hn::BitCast(Floats(), bits));
    }
  }
};

struct Int8Blocks {
  static constexpr WireFormat wire = WireFormat::int8_blocks;

  static void encode_block(std::byte* encoded, const std::byte* floats) {
    const Floats d;
    const Words words;
    const hn::Rebind<std::int8_t, Floats> integers;
    // Magnitudes are ordered as their bits are, NaNs above all.
    auto largest = hn::Zero(words);
    for (std::size_t i = 0; i < block; i += hn::Lanes(d)) {
      largest = hn::Max(largest, hn::And(load(words, floats + 4 * i), hn::Set(words, magnitude_bits)));
    }
    const std::int32_t bits = hn::GetLane(hn::MaxOfLanes(words, largest));
    float magnitude;
    std::memcpy(&magnitude, &bits, sizeof magnitude);
    float scale = 0, inverse = 0;
    if (bits >= exponent_bits) {
      std::memcpy(&scale, &quiet_nan_bits, sizeof scale);
    } else if (magnitude >= wire_smallest) {
      scale = std::min(magnitude / 127, largest_scale);
      inverse = 127 / magnitude;
    }
    std::memcpy(encoded, &scale, sizeof scale);
    if (inverse == 0) {  // also lest NaNs and infinities be made integers
      std::memset(encoded + sizeof scale, 0, block);
      return;
    }
    const auto factor = hn::Set(d, inverse);
    for (std::size_t i = 0; i < block; i += hn::Lanes(d)) {
      const auto nearest = hn::NearestInt(hn::Mul(load(d, floats + 4 * i), factor));
      store(integers, hn::DemoteTo(integers, nearest), encoded + sizeof scale + i);
    }
  }

  template <class Take>
  static void decode_block(const std::byte* encoded, Take take) {
    const Floats d;
    const Words words;
    const hn::Rebind<std::int8_t, Floats> integers;
    float scale;
    std::memcpy(&scale, encoded, sizeof scale);
    const auto factor = hn::Set(d, scale);
    for (std::size_t i = 0; i < block; i += hn::Lanes(d)) {
      const auto whole = hn::PromoteTo(words, load(integers, encoded + sizeof scale + i));
      take(i, hn::Mul(hn::ConvertTo(d, whole), factor));
    }
  }
};

// ---- any count: whole blocks where they lie, the rest through a block that is filled up with zeros

template <class Format>
void encode(std::byte* encoded, const std::byte* floats, std::size_t count) {
  constexpr std::size_t step = encoded_bytes(Format::wire, block);
  for (; count >= block; count -= block, floats += 4 * block, encoded += step) Format::encode_block(encoded, floats);
  if (count == 0) return;
  std::byte rest[4 * block] = {};
  std::byte rest_encoded[step];
  std::memcpy(rest, floats, 4 * count);
  Format::encode_block(rest_encoded, rest);
  std::memcpy(encoded, rest_encoded, encoded_bytes(Format::wire, count));
}

template <class Format>
void decode(std::byte* floats, const std::byte* encoded, std::size_t count) {
  constexpr std::size_t step = encoded_bytes(Format::wire, block);
  const auto decode_to = [](std::byte* to, const std::byte* from) HWY_ATTR {
    Format::decode_block(from, [to](std::size_t i, auto values) HWY_ATTR { store(Floats(), values, to + 4 * i); });
  };
  for (; count >= block; count -= block, floats += 4 * block, encoded += step) decode_to(floats, encoded);
  if (count == 0) return;
  std::byte rest[4 * block];
  std::byte rest_encoded[step] = {};
  std::memcpy(rest_encoded, encoded, encoded_bytes(Format::wire, count));
  decode_to(rest, rest_encoded);
  std::memcpy(floats, rest, 4 * count);
}

template <class Format>
void decode_add(std::byte* to, const std::byte* left, const std::byte* encoded, std::size_t count) {
  constexpr std::size_t step = encoded_bytes(Format::wire, block);
  const auto add_to = [](std::byte* sums, const std::byte* mine, const std::byte* from) HWY_ATTR {
    Format::decode_block(from, [sums, mine](std::size_t i, auto values) HWY_ATTR {
      store(Floats(), add(load(Floats(), mine + 4 * i), values), sums + 4 * i);
    });
  };
  for (; count >= block; count -= block, to += 4 * block, left += 4 * block, encoded += step) {
    add_to(to, left, encoded);
  }
  if (count == 0) return;
  std::byte rest[4 * block] = {};
  std::byte rest_encoded[step] = {};
  std::memcpy(rest, left, 4 * count);
  std::memcpy(rest_encoded, encoded, encoded_bytes(Format::wire, count));
  add_to(rest, rest, rest_encoded);
  std::memcpy(to, rest, 4 * count);
}

template <class Format>
WireCodec codec_of() {
  return {.encode = &encode<Format>, .decode = &decode<Format>, .decode_add = &decode_add<Format>};
}

WireCodec find_codec(WireFormat wire) {
  switch (wire) {
    case WireFormat::bfloat16: return codec_of<Bfloat16>();
    case WireFormat::int8_blocks: return codec_of<Int8Blocks>();
    case WireFormat::exact: break;
  }
  return {};
}

}  // namespace
}  // namespace hocket::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace hocket {

HWY_EXPORT(find_codec);

WireCodec wire_codec(WireFormat wire) {
  return HWY_DYNAMIC_DISPATCH(find_codec)(wire);
}

}  // namespace hocket

#endif
