#include "src/base/hash.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace hocket {
namespace {

// Other builds, machines and files hold these numbers. Whoever changes them raises the versions of what carries hashes.
TEST(Hash, IsTheSameEverywhere) {
  EXPECT_EQ(Hash().value(), 0U);
  EXPECT_EQ(Hash().add(1).value(), 0x910a2dec89025cc1U);  // SplitMix64's first number after the seed 1
  static_assert(hash_of("ring") == 0x260188021ebae079U);
  static_assert(hash_of("a text of several words") == 0x62f9deaadca66a82U);
}

TEST(Hash, OfATextIsThatOfItsBytes) {
  const std::string text = "ring and more than one word";
  EXPECT_EQ(hash_of(text), Hash().add(std::span<const char>(text)).value());
  EXPECT_EQ(hash_of(text), Hash().add(std::string_view(text)).value()) << "at run time as when compiled";
}

TEST(Hash, KeepsTextsInARowApart) {
  std::set<std::uint64_t> values;
  for (const auto& [left, right] : {std::pair{"ab", "c"}, {"a", "bc"}, {"abc", ""}, {"", "abc"}, {"ab", "c"}}) {
    values.insert(Hash().add(std::string_view(left)).add(std::string_view(right)).value());
  }
  EXPECT_EQ(values.size(), 4U) << "the last is the first again";
  EXPECT_NE(hash_of(std::string_view("a\0", 2)), hash_of("a"));
}

TEST(Hash, SeesEveryBitOfEveryNumber) {
  std::set<std::uint64_t> values;
  for (int place = 0; place < 3; ++place) {
    for (int bit = 0; bit < 64; ++bit) {
      Hash hash;
      for (int at = 0; at < 3; ++at) hash.add(at == place ? std::uint64_t{1} << bit : 0);
      values.insert(hash.value());
    }
  }
  EXPECT_EQ(values.size(), 3U * 64);
}

TEST(Hash, HasAShortForm) {
  std::set<std::uint32_t> values;
  for (std::uint64_t number = 0; number < 1000; ++number) values.insert(Hash().add(number).value32());
  EXPECT_EQ(values.size(), 1000U);
}

}  // namespace
}  // namespace hocket
