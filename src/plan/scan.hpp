// Texts taken apart: lines, entries and numbers of tables.
#pragma once

#include <cstdint>
#include <string_view>

namespace hocket {

// What stands before the first `separator`, which is taken off `rest` together with it.
std::string_view take_until(std::string_view& rest, char separator);
std::string_view trimmed(std::string_view text);
// The next line of `rest` without its comment and the blanks around it.
std::string_view take_line(std::string_view& rest);

// FNV-1a (Fowler, Noll, Vo), 64 bits; `digest` goes on from what was taken in before.
constexpr std::uint64_t digest_of(std::string_view text, std::uint64_t digest = 0xcbf29ce484222325) {
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return digest;
}

}  // namespace hocket
