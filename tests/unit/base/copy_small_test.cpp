#include "src/base/copy_small.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hocket {
namespace {

// Neither too little nor too much, of any length, wherever both lie.
TEST(CopySmall, CopiesJustTheBytes) {
  constexpr std::size_t most = 70, around = 9;
  std::vector<std::byte> from(most + 2 * around);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i + 1);
  for (std::size_t bytes = 0; bytes <= most; ++bytes) {
    for (std::size_t shift = 0; shift < around; ++shift) {
      std::vector<std::byte> to(from.size());
      copy_small(to.data() + around, from.data() + shift, bytes);
      std::vector<std::byte> expected(from.size());
      for (std::size_t i = 0; i < bytes; ++i) expected[around + i] = from[shift + i];
      ASSERT_EQ(to, expected) << bytes << " bytes from " << shift;
    }
  }
}

TEST(CopySmall, TakesNoPlacesForNoBytes) {
  copy_small(nullptr, nullptr, 0);
}

}  // namespace
}  // namespace hocket
