// The encoding kernels of every instruction set that this machine has, against plain loops: counts, alignments, values
// at the edges of float32, and the error bounds that docs/reference/lower-precision.md states.
#include "src/exec/encode.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/exec/float_bits.hpp"
#include "tests/unit/exec/guarded.hpp"

namespace hocket {
namespace {

using exec_testing::bits_of;
using exec_testing::Guarded;
using exec_testing::infinity;
using exec_testing::quiet_nan;
using Floats = std::vector<float>;
using Random = std::mt19937_64;

// ---- the plain reference: what a float is after its journey

float through_bfloat16(float value) {
  if (std::isnan(value)) return std::bit_cast<float>(quiet_nan);
  const std::uint32_t bits = bits_of(value);
  return std::bit_cast<float>((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000U);
}

void through_int8(float* block, std::size_t count) {
  float largest = 0;
  bool finite = true;
  for (std::size_t i = 0; i < count; ++i) {
    finite = finite && std::isfinite(block[i]);
    largest = std::max(largest, std::abs(block[i]));
  }
  float scale = largest / 127;
  if (std::isinf(127 * scale)) scale = std::nextafter(scale, 0.0F);
  const float inverse = 127 / largest;
  for (std::size_t i = 0; i < count; ++i) {
    if (!finite) {
      block[i] = std::bit_cast<float>(quiet_nan);
    } else if (largest < wire_smallest) {
      block[i] = 0;
    } else {
      const int whole = static_cast<int>(std::nearbyint(block[i] * inverse));
      block[i] = static_cast<float>(whole) * scale;
    }
  }
}

Floats through(WireFormat wire, Floats values) {
  if (wire == WireFormat::bfloat16) {
    std::ranges::transform(values, values.begin(), through_bfloat16);
    return values;
  }
  for (std::size_t at = 0; at < values.size(); at += wire_block_elements) {
    through_int8(&values[at], std::min(wire_block_elements, values.size() - at));
  }
  return values;
}

// ---- values

Floats values_of(std::size_t count, const std::function<float()>& make) {
  Floats values(count);
  std::ranges::generate(values, make);
  return values;
}

// Any bits: NaNs, infinities and subnormal numbers among them.
Floats any_values(std::size_t count, Random& random) {
  return values_of(count, [&] { return std::bit_cast<float>(static_cast<std::uint32_t>(random())); });
}

// Finite, of magnitudes about 2^exponent.
Floats values_near(int exponent, std::size_t count, Random& random) {
  std::uniform_real_distribution<float> fraction(-1, 1);
  return values_of(count, [&] { return std::ldexp(fraction(random), exponent + static_cast<int>(random() % 5)); });
}

// ---- the suite: instruction set × format

struct Target {
  std::int64_t number;
  WireFormat wire;
};

std::vector<Target> all_targets() {
  std::vector<Target> targets;
  for (const std::int64_t number : hwy::SupportedAndGeneratedTargets()) {
    targets.push_back({number, WireFormat::bfloat16});
    targets.push_back({number, WireFormat::int8_blocks});
  }
  return targets;
}

class EncodeTest : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    hwy::GetChosenTarget().Update(GetParam().number);
    codec_ = wire_codec(wire_);
    ASSERT_NE(codec_.encode, nullptr);
  }
  void TearDown() override { hwy::GetChosenTarget().Update(hwy::SupportedTargets()); }

  // There and back, at any alignment.
  Floats travel(const Floats& values) {
    const std::size_t bytes = values.size() * sizeof(float);
    Guarded from(values.data(), bytes, random_()), encoded(nullptr, encoded_bytes(wire_, values.size()), random_());
    Guarded to(nullptr, bytes, random_());
    codec_.encode(encoded.data(), from.data(), values.size());
    codec_.decode(to.data(), encoded.data(), values.size());
    EXPECT_TRUE(from.fences_stand() && encoded.fences_stand() && to.fences_stand()) << values.size() << " floats";
    return to.take_as<float>();
  }

  void expect_equal(const Floats& found, const Floats& expected, const char* what) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(bits_of(found[i]), bits_of(expected[i]))
          << what << ": element " << i << " of " << expected.size() << " is " << found[i] << ", not " << expected[i];
    }
  }

  void check(const Floats& values) {
    const Floats arrived = travel(values);
    ASSERT_NO_FATAL_FAILURE(expect_equal(arrived, through(wire_, values), "decode"));

    const Floats mine = values_near(0, values.size(), random_);
    Floats sums = arrived;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] += mine[i];
      if (std::isnan(sums[i])) sums[i] = std::bit_cast<float>(quiet_nan);
    }
    const std::size_t bytes = values.size() * sizeof(float);
    Guarded from(values.data(), bytes, random_()), encoded(nullptr, encoded_bytes(wire_, values.size()), random_());
    codec_.encode(encoded.data(), from.data(), values.size());
    Guarded left(mine.data(), bytes, random_()), to(nullptr, bytes, random_());
    codec_.decode_add(to.data(), left.data(), encoded.data(), values.size());
    ASSERT_NO_FATAL_FAILURE(expect_equal(to.take_as<float>(), sums, "decode_add"));
    ASSERT_NO_FATAL_FAILURE(expect_equal(left.take_as<float>(), mine, "the left operand"));
    codec_.decode_add(left.data(), left.data(), encoded.data(), values.size());
    ASSERT_NO_FATAL_FAILURE(expect_equal(left.take_as<float>(), sums, "decode_add onto itself"));
    EXPECT_TRUE(to.fences_stand() && left.fences_stand());
  }

  // No error is larger than the bound.
  void check_bound(const Floats& values) {
    const Floats arrived = travel(values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t block = i / wire_block_elements * wire_block_elements;
      double largest = 0;
      for (std::size_t j = block; j < std::min(block + wire_block_elements, values.size()); ++j) {
        largest = std::max(largest, std::abs(static_cast<double>(values[j])));
      }
      const double bound = wire_ == WireFormat::bfloat16
                               ? std::max(std::abs(static_cast<double>(values[i])) / 256, 0x1p-134)
                               : std::max(largest / 253, static_cast<double>(wire_smallest));
      ASSERT_LE(std::abs(static_cast<double>(arrived[i]) - static_cast<double>(values[i])), bound)
          << values[i] << " arrives as " << arrived[i] << ", largest of its block " << largest;
    }
  }

  const WireFormat wire_ = GetParam().wire;
  WireCodec codec_;
  Random random_{20260102};
};

TEST_P(EncodeTest, EverySmallCountAtAnyAlignment) {
  for (std::size_t count = 0; count <= 200; ++count) {
    ASSERT_NO_FATAL_FAILURE(check(any_values(count, random_)));
    ASSERT_NO_FATAL_FAILURE(check(values_near(3, count, random_)));
  }
}

TEST_P(EncodeTest, ManyBlocks) {
  for (const std::size_t count : {1000, 4096, 65537}) {
    ASSERT_NO_FATAL_FAILURE(check(any_values(count, random_)));
    ASSERT_NO_FATAL_FAILURE(check(values_near(-7, count, random_)));
  }
}

TEST_P(EncodeTest, ErrorsStayWithinTheBoundOverAllExponents) {
  for (int exponent = -149; exponent <= 122; ++exponent) {
    ASSERT_NO_FATAL_FAILURE(check(values_near(exponent, 3 * wire_block_elements, random_)));
    ASSERT_NO_FATAL_FAILURE(check_bound(values_near(exponent, 3 * wire_block_elements, random_)));
  }
}

// What rounds worst: halves of a unit, one large value among small ones, all values alike, magnitudes just below a
// power of two.
TEST_P(EncodeTest, ErrorsOfAdversarialBlocksStayWithinTheBound) {
  for (const float largest : {1.0F, 127.0F, 3.0e38F, wire_smallest, std::nextafter(2.0F, 1.0F), 1.9999F, 0x1p-100F}) {
    Floats halves, lonely, alike;
    for (std::size_t i = 0; i < wire_block_elements; ++i) {
      const auto step = static_cast<float>(i);
      halves.push_back(i == 0 ? largest : largest / 127 * (step - 0.5F));
      lonely.push_back(i == 17 ? -largest : largest * 0x1p-9F * (step - 32));
      alike.push_back(i % 2 == 0 ? largest : -largest);
    }
    for (const Floats& values : {halves, lonely, alike}) {
      ASSERT_NO_FATAL_FAILURE(check(values));
      ASSERT_NO_FATAL_FAILURE(check_bound(values));
    }
  }
}

TEST_P(EncodeTest, TheLargestFloatsStayFiniteOrRoundToInfinity) {
  constexpr float largest = std::numeric_limits<float>::max();
  const Floats arrived = travel(Floats(wire_block_elements, -largest));
  for (const float value : arrived) {
    if (wire_ == WireFormat::bfloat16) {
      EXPECT_EQ(value, -infinity);
    } else {
      EXPECT_NEAR(value / largest, -1, 1e-6);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTargets, EncodeTest, testing::ValuesIn(all_targets()), [](const auto& test) {
  return std::string(hwy::TargetName(test.param.number)) + "_" + std::string(name_of(test.param.wire));
});

}  // namespace
}  // namespace hocket
