#include "src/base/bytes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

namespace hocket {
namespace {

TEST(Bytes, NumbersAreLittleEndian) {
  std::string bytes;
  append(bytes, std::uint32_t{0x04030201});
  append(bytes, std::uint8_t{5});
  EXPECT_EQ(bytes, "\1\2\3\4\5");
  std::array<std::byte, 5> written{};
  ByteWriter to(written.data());
  to.put(std::uint32_t{0x04030201});
  to.put_text("\5");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(written.data()), written.size()), bytes);
}

TEST(Bytes, FieldsComeBackInTheirOrder) {
  std::string bytes;
  append(bytes, std::uint16_t{3});
  bytes += "key";
  append(bytes, -7);
  bytes += "what is left";
  ByteReader from(bytes);
  EXPECT_EQ(from.text(from.take<std::uint16_t>()), "key");
  EXPECT_EQ(from.take<int>(), -7);
  EXPECT_EQ(from.left(), 12U);
  EXPECT_FALSE(from.whole());
  EXPECT_EQ(from.rest(), "what is left");
  EXPECT_TRUE(from.whole());
}

// Whatever the length is cut to, nothing beyond the end is read, and what could not be read is nothing.
TEST(Bytes, WhatIsCutShortReadsAsNothingFromThereOn) {
  std::string bytes;
  append(bytes, std::uint32_t{0xffffffff});
  append(bytes, std::uint16_t{0xffff});
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::string exact = bytes.substr(0, length);  // which a sanitizer watches
    ByteReader from(exact);
    const auto first = from.take<std::uint32_t>();
    EXPECT_EQ(first, length < 4 ? 0U : 0xffffffff) << length;
    EXPECT_EQ(from.take<std::uint16_t>(), 0U) << length;
    EXPECT_FALSE(from.ok()) << length;
    EXPECT_EQ(from.text(1), "") << "the rest is gone, too";
    EXPECT_EQ(from.left(), 0U);
    EXPECT_FALSE(from.whole());
  }
}

TEST(Bytes, ALengthFromOutsideIsNotTrusted) {
  ByteReader from(std::string_view("abc"));
  EXPECT_EQ(from.text(SIZE_MAX), "");
  EXPECT_FALSE(from.ok());
}

}  // namespace
}  // namespace hocket
