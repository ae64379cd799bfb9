// Hash: 64 bits that tell whether two processes mean the same. The one hash of the library: it names algorithms,
// compares builds and lists on several ranks, and notices damaged records. It is the same on every machine and in every
// build; a change of it raises the versions of what carries it. It protects against mistakes, not against intent.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace hocket {

class Hash {
 public:
  // Steele et al., SplitMix (OOPSLA 2014), one round for each number.
  constexpr Hash& add(std::uint64_t number) {
    std::uint64_t bits = (state_ ^ number) + 0x9E3779B97F4A7C15;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
    state_ = bits ^ (bits >> 31);
    return *this;
  }
  // With its length, so that texts in a row do not run together; eight bytes at a time, the last ones filled with
  // zeros.
  constexpr Hash& add(std::string_view text) {
    add(text.size());
    for (; !text.empty(); text.remove_prefix(text.size() < 8 ? text.size() : 8)) add(word_of(text));
    return *this;
  }
  // As text.
  template <class T>
  requires std::is_trivially_copyable_v<T> Hash& add(std::span<const T> values) {
    return add(std::string_view(reinterpret_cast<const char*>(values.data()), values.size_bytes()));
  }

  constexpr std::uint64_t value() const { return state_; }
  constexpr std::uint32_t value32() const { return static_cast<std::uint32_t>(state_ >> 32); }

 private:
  // The first eight bytes, the first of them lowest.
  static constexpr std::uint64_t word_of(std::string_view text) {
    if (!std::is_constant_evaluated() && std::endian::native == std::endian::little && text.size() >= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, text.data(), sizeof word);
      return word;
    }
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8 && i < text.size(); ++i) {
      word |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
    }
    return word;
  }

  std::uint64_t state_ = 0;
};

constexpr std::uint64_t hash_of(std::string_view text) {
  return Hash().add(text).value();
}

}  // namespace hocket
