#include "src/base/printable.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace hocket {
namespace {

// How many bytes the character takes that `text` begins with; 0 where it is none of UTF-8. Sets its number.
std::size_t decode(std::string_view text, std::uint32_t& number) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(text[at]); };
  const std::uint8_t first = byte(0);
  const std::size_t bytes = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if ((first >= 0x80 && first < 0xc2) || first > 0xf4 || text.size() < bytes) return 0;
  number = bytes == 1 ? first : first & (0x7fu >> bytes);
  for (std::size_t at = 1; at < bytes; ++at) {
    if ((byte(at) & 0xc0) != 0x80) return 0;
    number = number << 6 | (byte(at) & 0x3fu);
  }
  constexpr std::uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = number >= 0xd800 && number < 0xe000;
  return number < smallest[bytes] || number > 0x10ffff || surrogate ? 0 : bytes;
}

bool shows(std::uint32_t number) {
  if (number < 0x20 || (number >= 0x7f && number < 0xa0)) return false;  // control characters
  const auto within = [&](std::uint32_t first, std::uint32_t last) { return number >= first && number <= last; };
  return !within(0x200b, 0x200f) && !within(0x2028, 0x202e) && !within(0x2060, 0x206f) && number != 0xfeff;
}

}  // namespace

std::string printable(std::string_view text, std::size_t bytes_max) {
  std::string shown;
  while (!text.empty()) {
    std::uint32_t number = 0;
    std::size_t bytes = decode(text, number);
    std::string next;
    if (bytes > 0 && shows(number)) {
      next = text.substr(0, bytes);
    } else {
      bytes = bytes > 0 ? bytes : 1;
      for (const char letter : text.substr(0, bytes))
        next += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(letter));
    }
    if (shown.size() + next.size() > bytes_max) return shown + "…";
    shown += next;
    text.remove_prefix(bytes);
  }
  return shown;
}

}  // namespace hocket
