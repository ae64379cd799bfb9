#include "src/store/record.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace hocket::store {
namespace {

TEST(Record, SurvivesTheJourney) {
  const std::string bytes = encode_record("key", std::string_view("a\0b", 3)) + encode_record("key", std::nullopt);
  const auto first = parse_record(bytes);
  ASSERT_TRUE(first.ok() && *first);
  EXPECT_EQ((*first)->key, "key");
  EXPECT_EQ((*first)->value, std::string_view("a\0b", 3));
  const auto second = parse_record(std::string_view(bytes).substr((*first)->bytes));
  ASSERT_TRUE(second.ok() && *second);
  EXPECT_EQ((*second)->value, std::nullopt);
  EXPECT_EQ((*first)->bytes + (*second)->bytes, bytes.size());
}

TEST(Record, CutShortIsNoError) {
  const std::string bytes = encode_record("key", "value");
  for (std::size_t left = 0; left < bytes.size(); ++left) {
    const std::vector<char> exact(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(left));
    const auto record = parse_record({exact.data(), exact.size()});
    EXPECT_TRUE(record.ok() && !*record) << left;
  }
}

// Any change of one byte behind the length is found out by the checksum; one of the length may look like a cut.
TEST(Record, EveryDamagedByteIsFound) {
  const std::string bytes = encode_record("key", "value");
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      const auto record = parse_record(damaged);
      EXPECT_FALSE(record.ok() && *record) << "byte " << at << ", bit " << bit;
    }
  }
}

TEST(Record, RandomBytesDoNoHarm) {
  std::mt19937 random(20260103);
  for (int round = 0; round < 100'000; ++round) {
    std::vector<char> bytes(random() % 64);
    for (char& byte : bytes) byte = static_cast<char>(random());
    if (bytes.size() >= 4) bytes[1] = bytes[2] = bytes[3] = 0;  // lengths that are within bounds
    const auto record = parse_record({bytes.data(), bytes.size()});
    EXPECT_FALSE(record.ok() && *record);
  }
}

}  // namespace
}  // namespace hocket::store
