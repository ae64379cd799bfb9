#include "src/plan/scan.hpp"

#include <algorithm>

namespace hocket {

std::string_view take_until(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return taken;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const std::size_t first = std::min(text.find_first_not_of(blank), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(blank) + 1);
}

std::string_view take_line(std::string_view& rest) {
  std::string_view line = take_until(rest, '\n');
  return trimmed(take_until(line, '#'));
}

}  // namespace hocket
