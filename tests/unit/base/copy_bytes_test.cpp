#include "src/base/copy_bytes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

namespace hocket {
namespace {

constexpr std::size_t page = 4096;

// Bytes that begin with a page.
struct Pages {
  explicit Pages(std::size_t number) : bytes(number * page), data(new (std::align_val_t(page)) std::byte[bytes]) {
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 31 + i / page);
  }
  ~Pages() { ::operator delete[](data, std::align_val_t(page)); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::vector<std::byte> all() const { return {data, data + bytes}; }

  std::size_t bytes;
  std::byte* data;
};

// Neither too little nor too much, wherever both lie in their pages.
TEST(CopyBytes, CopiesJustTheBytes) {
  const Pages from(4);
  for (const std::size_t bytes : {0, 1, 63, 64, 2047, 2048, 2049, 4096, 5000, 8191}) {
    for (const std::size_t at : {0, 1, 16, 48, 4090}) {
      for (std::size_t behind = 0; behind < 70; ++behind) {
        const Pages to(4);
        std::vector<std::byte> expected = to.all();
        const std::size_t target = (at + behind) % page;
        std::copy_n(from.data + at, bytes, expected.begin() + static_cast<std::ptrdiff_t>(target));
        copy_bytes(to.data + target, from.data + at, bytes);
        ASSERT_EQ(to.all(), expected) << bytes << " bytes from " << at << " to " << target;
      }
    }
  }
}

TEST(CopyBytes, TakesNoPlacesForNoBytes) {
  copy_bytes(nullptr, nullptr, 0);
}

}  // namespace
}  // namespace hocket
