// Encoding kernels: float32 to a wire format of lower precision and back, for the best vector instructions of this
// processor. Layouts, for n floats:
//   bfloat16      n numbers of 2 bytes: the upper halves of the floats, rounded to nearest, ties to even
//   int8_blocks   for each 64 floats, the last block perhaps fewer: a float32 scale, then an int8 for each; a float is
//                 its integer times the scale
//
// Every processor encodes and decodes to the same bits, whatever its vectors and whether or not it flushes subnormal
// numbers:
//  - bfloat16 keeps infinities, zeros and subnormal numbers with their signs; a NaN becomes the positive quiet NaN;
//  what
//    rounds beyond the largest bfloat16 becomes an infinity.
//  - int8_blocks scales by the block's largest magnitude / 127 (at most the largest scale of which 127 are finite). A
//    block that holds a NaN or an infinity decodes to NaNs altogether; a block whose magnitudes are all below
//    wire_smallest, to zeros. Zeros lose their sign.
//
// Errors: |x - decoded x| <= max(|x| / 256, 2^-134) for bfloat16, and max(m / 253, wire_smallest) for int8_blocks,
// where m is the largest magnitude of the block; docs/reference/lower-precision.md derives both.
#pragma once

#include <cstddef>

#include "src/spi/types.hpp"

namespace hocket {

inline constexpr float wire_smallest = 0x1p-119F;  // 127 such scales are still no subnormal numbers

// Functions for `count` floats; no pointer needs any alignment. `encoded` holds encoded_bytes(wire, count) bytes and
// overlaps nothing else.
struct WireCodec {
  void (*encode)(std::byte* encoded, const std::byte* floats, std::size_t count) = nullptr;
  void (*decode)(std::byte* floats, const std::byte* encoded, std::size_t count) = nullptr;
  // to = left + decoded, as the sum of float32 is taken elsewhere (reduce.hpp); `to` may be `left`.
  void (*decode_add)(std::byte* to, const std::byte* left, const std::byte* encoded, std::size_t count) = nullptr;
};

// All null for WireFormat::exact. Any thread.
WireCodec wire_codec(WireFormat wire);

}  // namespace hocket
