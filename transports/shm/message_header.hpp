// What a message in a ring begins with: a word that says how many bytes it has, with flags, and its tag. That word is
// written last, and is 0 before: so the reader sees that the message has come.
//
// A short message whose tag is that of the message before with the next number leaves the tag out, and need not begin
// with a cache line: so four messages of 8 bytes take one line from core to core.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "src/spi/transport.hpp"
#include "transports/shm/shared_memory.hpp"

namespace hocket::shm {

struct MessageHeader {
  std::uint64_t bytes = 0;  // of the payload; in the ring with these:
  Tag tag;

  static constexpr std::uint64_t in_place = std::uint64_t{1} << 63;  // that does not follow
  static constexpr std::uint64_t present = std::uint64_t{1} << 62;   // the message has come, or begins to
  static constexpr std::uint64_t whole = std::uint64_t{1} << 61;     // and all of it at once, in one piece
  static constexpr std::uint64_t untagged = std::uint64_t{1} << 60;  // the payload follows this word
  static constexpr std::uint64_t flags = in_place | present | whole | untagged;
  // In place of a message: the next one begins in the next line, or at the ring's front.
  static constexpr std::uint64_t rest_is_empty = 1, front_is_next = 2;

  // The first word of a message that has come at once.
  static constexpr std::uint64_t word_of_whole(std::uint64_t bytes) { return bytes | present | whole; }
  static constexpr std::uint64_t word_of_untagged(std::uint64_t bytes) { return word_of_whole(bytes) | untagged; }
};
static_assert(sizeof(MessageHeader) == 48 && std::has_unique_object_representations_v<MessageHeader>);

// The first word of the header that lies there, or will.
inline std::atomic_ref<std::uint64_t> arrival_at(std::byte* header) {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(header));
}

// Where a payload lies that both ends can reach.
struct PayloadPlace {
  std::uint32_t window = 0;  // with which its memory is registered
  std::uint32_t region = 0;  // there; 0: it is plain memory of the sender
  std::uint64_t offset = 0;  // in the region; of plain memory the address

  bool is_plain() const { return region == 0; }
};
static_assert(sizeof(MessageHeader) + sizeof(PayloadPlace) == cache_line_bytes);

// Messages without a tag begin at a multiple of this, others with a cache line.
inline constexpr std::size_t slot_bytes = 16;
// Messages of more bytes have a tag.
inline constexpr std::size_t untagged_max = 2 * cache_line_bytes - sizeof(std::uint64_t);

// What a message takes that memory holds; without a division, since every message passes here.
constexpr std::size_t bytes_in_ring(std::size_t payload) {
  static_assert(std::has_single_bit(cache_line_bytes));
  return (sizeof(MessageHeader) + payload + cache_line_bytes - 1) & ~(cache_line_bytes - 1);
}
constexpr std::size_t untagged_bytes_in_ring(std::size_t payload) {
  return (sizeof(std::uint64_t) + payload + slot_bytes - 1) & ~(slot_bytes - 1);
}

// Whether the tag that lies there is this one; without a branch for each field.
inline bool is_tag(const std::byte* there, const Tag& tag) {
  const auto word = [](const void* from, std::size_t index) {
    std::uint64_t read = 0;
    std::memcpy(&read, static_cast<const std::byte*>(from) + index * sizeof read, sizeof read);
    return read;
  };
  std::uint64_t differences = 0;
  for (std::size_t i = 0; i < sizeof tag / sizeof differences; ++i) differences |= word(&tag, i) ^ word(there, i);
  return differences == 0;
}

// The tag that the next message has where it has none in the ring. Both ends count alike.
class NextTag {
 public:
  bool is(const Tag& tag) const { return is_tag(reinterpret_cast<const std::byte*>(words_.data()), tag); }
  Tag get() const { return std::bit_cast<Tag>(words_); }
  // A message with this tag has passed.
  void pass(const Tag& tag) {
    words_ = std::bit_cast<Words>(tag);
    pass();
  }
  // The message that was expected has passed.
  void pass() {
    static_assert(offsetof(Tag, sequence) == sizeof(std::uint32_t) && std::endian::native == std::endian::little);
    words_[0] += std::uint64_t{1} << 32;
  }

 private:
  // Written in the words that is_tag() reads: the processor has a word at hand only where it was written as a whole.
  using Words = std::array<std::uint64_t, sizeof(Tag) / sizeof(std::uint64_t)>;
  Words words_{};
};

}  // namespace hocket::shm
