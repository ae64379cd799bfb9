// Memory of any kind that a caller may pass to a collective, with fences before and behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace hocket::process_testing {

enum class MemoryKind : std::uint8_t {
  plain,
  allocated,   // hocket_mem_alloc
  registered,  // hocket_register, of a mapping that does not begin where its file does
};
inline constexpr MemoryKind all_memory_kinds[] = {MemoryKind::plain, MemoryKind::allocated, MemoryKind::registered};
std::string_view name_of(MemoryKind kind);

class FencedMemory {
 public:
  FencedMemory() = default;
  // `size` bytes that nobody has written yet, `misalignment` behind a multiple of 64. Throws where there is no memory.
  FencedMemory(std::size_t size, std::size_t misalignment, MemoryKind kind);

  std::byte* data() { return bytes_.get() + start_; }
  const std::byte* data() const { return bytes_.get() + start_; }
  bool fences_stand() const;

 private:
  struct Free {
    void operator()(std::byte* bytes) const;
    MemoryKind kind;
    std::size_t bytes_mapped;
  };

  std::unique_ptr<std::byte[], Free> bytes_;
  std::size_t total_ = 0, start_ = 0, size_ = 0;
};

}  // namespace hocket::process_testing
