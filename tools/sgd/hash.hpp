// FNV-1a, 64 bits (Fowler, Noll, Vo): tells whether ranks hold the same bytes. No protection against intent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hocket::sgd {

class Hash {
 public:
  template <class T>
  Hash& add(std::span<const T> values) {
    for (const std::byte byte : std::as_bytes(values)) {
      value_ = (value_ ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3U;
    }
    return *this;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace hocket::sgd
