// The rules of lower precision in words, without the plain reference.
#include "src/exec/encode.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/unit/exec/float_bits.hpp"
#include "tests/unit/exec/guarded.hpp"

namespace hocket {
namespace {

using exec_testing::bits_of;
using exec_testing::Bytes;
using exec_testing::infinity;
using exec_testing::quiet_nan;
using Floats = std::vector<float>;
using Random = std::mt19937_64;

Floats travelled(WireFormat wire, const Floats& values) {
  const WireCodec codec = wire_codec(wire);
  Bytes encoded(encoded_bytes(wire, values.size()));
  Floats arrived(values.size());
  codec.encode(encoded.data(), reinterpret_cast<const std::byte*>(values.data()), values.size());
  codec.decode(reinterpret_cast<std::byte*>(arrived.data()), encoded.data(), values.size());
  return arrived;
}

TEST(EncodeRules, Bfloat16RoundsToNearestEvenAndKeepsWhatItCan) {
  const float subnormal = 0x1p-133F;  // the smallest bfloat16
  const Floats values = {1.0F + 0x1p-8F, 1.0F + 0x3p-8F, -infinity,   -0.0F,
                         subnormal,      subnormal / 2,  0x1.8p-133F, 100.0F};
  const Floats arrived = travelled(WireFormat::bfloat16, values);
  const Floats expected = {1.0F, 1.0F + 0x1p-6F, -infinity, -0.0F, subnormal, 0.0F, 2 * subnormal, 100.0F};
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(bits_of(arrived[i]), bits_of(expected[i])) << values[i];
}

TEST(EncodeRules, NansBecomeTheQuietOne) {
  const float with_payload = std::bit_cast<float>(0xFF800001U);
  EXPECT_EQ(bits_of(travelled(WireFormat::bfloat16, {with_payload})[0]), quiet_nan);
  EXPECT_EQ(bits_of(travelled(WireFormat::int8_blocks, {with_payload})[0]), quiet_nan);
}

TEST(EncodeRules, OneNumberThatIsNotFiniteMakesItsBlockNansAndNoOther) {
  for (const float bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
    Floats values(3 * wire_block_elements, 1.0F);
    values[wire_block_elements + 13] = bad;
    const Floats arrived = travelled(WireFormat::int8_blocks, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool in_block = i / wire_block_elements == 1;
      EXPECT_EQ(bits_of(arrived[i]), in_block ? quiet_nan : bits_of(1.0F)) << bad << ", element " << i;
    }
  }
}

TEST(EncodeRules, BlocksOfTinyNumbersBecomeZeros) {
  for (const float value : travelled(WireFormat::int8_blocks, Floats(70, -std::nextafter(wire_smallest, 0.0F)))) {
    EXPECT_EQ(bits_of(value), 0U);
  }
  for (const float value : travelled(WireFormat::int8_blocks, Floats(70, -wire_smallest))) {
    EXPECT_FLOAT_EQ(value, -wire_smallest);
  }
}

TEST(EncodeRules, WholeNumbersUpTo127TravelExactlyBesideOneOf127) {
  Floats values;
  for (int i = 0; i < 64; ++i) values.push_back(static_cast<float>(i % 2 == 0 ? 127 - i : i - 127));
  EXPECT_EQ(travelled(WireFormat::int8_blocks, values), values);
}

TEST(EncodeRules, BytesAreAsStated) {
  EXPECT_EQ(encoded_bytes(WireFormat::bfloat16, 65), 130U);
  EXPECT_EQ(encoded_bytes(WireFormat::int8_blocks, 0), 0U);
  EXPECT_EQ(encoded_bytes(WireFormat::int8_blocks, 1), 5U);
  EXPECT_EQ(encoded_bytes(WireFormat::int8_blocks, 64), 68U);
  EXPECT_EQ(encoded_bytes(WireFormat::int8_blocks, 65), 73U);
}

TEST(EncodeRules, ExactHasNoCodec) {
  EXPECT_EQ(wire_codec(WireFormat::exact).encode, nullptr);
}

}  // namespace
}  // namespace hocket
