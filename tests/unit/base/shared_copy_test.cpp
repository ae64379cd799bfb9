#include "src/base/shared_copy.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <vector>

namespace hocket {
namespace {

using Traffic = SharedCopy::Traffic;

constexpr std::size_t long_copy = std::size_t{64} << 10;

// Neither too little nor too much, whether it measures or not and whatever it has learnt.
TEST(SharedCopy, CopiesJustTheBytes) {
  std::mt19937 random(3);
  std::vector<std::byte> from(long_copy + 256);
  for (std::byte& byte : from) byte = static_cast<std::byte>(random());
  SharedCopy copy;
  for (int trial = 0; trial < 2000; ++trial) {
    const std::size_t bytes = random() % (trial % 4 == 0 ? long_copy : 9000), at = random() % 128, to = random() % 128;
    std::vector<std::byte> target(from.size(), std::byte{0xA5}), expected = target;
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at), bytes,
                expected.begin() + static_cast<std::ptrdiff_t>(to));
    copy.learn({.gain = trial % 2 == 0 ? 100 : 0.01F, .ordinary = 1e-9F});
    copy.copy(target.data() + to, from.data() + at, bytes, trial % 3 == 0 ? Traffic::one_way : Traffic::both_ways);
    ASSERT_EQ(target, expected) << bytes << " bytes from " << at << " to " << to;
  }
}

TEST(SharedCopy, StreamsWhereMostMeasurementsFoundThatFaster) {
  SharedCopy copy;
  EXPECT_FALSE(copy.streams(long_copy, Traffic::one_way));
  copy.learn({.gain = 30});
  EXPECT_FALSE(copy.streams(long_copy, Traffic::one_way)) << "one measurement may be of a process that lost its core";
  copy.learn({.gain = 30});
  EXPECT_TRUE(copy.streams(long_copy, Traffic::one_way));
  copy.learn({.gain = 0.1F});
  EXPECT_TRUE(copy.streams(long_copy, Traffic::one_way));
  copy.learn({.gain = 0.1F});
  EXPECT_FALSE(copy.streams(long_copy, Traffic::one_way));
}

TEST(SharedCopy, StreamsSoonerToOneReader) {
  SharedCopy copy;
  copy.learn({.gain = 1.5F});
  copy.learn({.gain = 1.5F});
  EXPECT_TRUE(copy.streams(long_copy, Traffic::one_way));
  EXPECT_FALSE(copy.streams(long_copy, Traffic::both_ways));
  for (int i = 0; i < 2; ++i) copy.learn({.gain = 5});
  EXPECT_TRUE(copy.streams(long_copy, Traffic::both_ways));
}

TEST(SharedCopy, StreamsNothingShort) {
  SharedCopy copy;
  for (int i = 0; i < 3; ++i) copy.learn({.gain = 1000});
  EXPECT_FALSE(copy.streams(1024, Traffic::one_way));
  EXPECT_TRUE(copy.streams(4096, Traffic::one_way));
}

TEST(SharedCopy, TellsWhatItsCopiesTake) {
  SharedCopy copy;
  EXPECT_EQ(copy.seconds_per_byte(long_copy, Traffic::one_way), 0) << "nothing has been measured";
  for (int i = 0; i < 2; ++i) copy.learn({.gain = 2, .ordinary = 1e-10F});
  copy.learn({.gain = 1000, .ordinary = 1});  // of a process that lost its core
  EXPECT_FLOAT_EQ(static_cast<float>(copy.seconds_per_byte(long_copy, Traffic::both_ways)), 1e-10F);
  EXPECT_FLOAT_EQ(static_cast<float>(copy.seconds_per_byte(long_copy, Traffic::one_way)), 0.5e-10F) << "they stream";
}

TEST(SharedCopy, TellsNothingFromAFewLines) {
  SharedCopy copy;
  std::vector<std::byte> from(long_copy), to(long_copy);
  for (int i = 0; i < 8; ++i) {
    copy.measure_next();
    copy.copy(to.data(), from.data(), 4096, Traffic::one_way);
  }
  EXPECT_EQ(copy.seconds_per_byte(long_copy, Traffic::one_way), 0);
  for (int i = 0; i < 3; ++i) {
    copy.measure_next();
    copy.copy(to.data(), from.data(), long_copy, Traffic::one_way);
  }
  EXPECT_GT(copy.seconds_per_byte(long_copy, Traffic::one_way), 0);
}

}  // namespace
}  // namespace hocket
