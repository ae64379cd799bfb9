// Memory that shows what a kernel writes beside its target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace hocket::exec_testing {

using Bytes = std::vector<std::byte>;

// A copy of some bytes at a chosen distance from a 64-byte boundary, between bytes that nobody may write.
class Guarded {
 public:
  // Null: `size` bytes of any value.
  Guarded(const void* bytes, std::size_t size, std::size_t misalignment)
      : memory_(size + 3 * fence, canary), size_(size) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    start_ = (fence - address % fence) % fence + fence / 2 + misalignment % (fence / 2);
    if (size > 0 && bytes != nullptr) std::memcpy(data(), bytes, size);
  }
  Guarded(const Bytes& bytes, std::size_t misalignment) : Guarded(bytes.data(), bytes.size(), misalignment) {}

  std::byte* data() { return memory_.data() + start_; }
  Bytes take() const { return take_as<std::byte>(); }
  template <class T>
  std::vector<T> take_as() const {
    std::vector<T> values(size_ / sizeof(T));
    if (size_ > 0) std::memcpy(values.data(), memory_.data() + start_, size_);
    return values;
  }
  bool fences_stand() const {
    for (std::size_t at = 0; at < memory_.size(); ++at) {
      if ((at < start_ || at >= start_ + size_) && memory_[at] != canary) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t fence = 128;
  static constexpr std::byte canary{0xA5};

  Bytes memory_;
  std::size_t start_ = 0;
  std::size_t size_;
};

}  // namespace hocket::exec_testing
