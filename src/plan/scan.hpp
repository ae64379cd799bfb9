// Texts taken apart: lines, entries and numbers of tables.
#pragma once

#include <string_view>

namespace hocket {

// What stands before the first `separator`, which is taken off `rest` together with it.
std::string_view take_until(std::string_view& rest, char separator);
std::string_view trimmed(std::string_view text);
// The next line of `rest` without its comment and the blanks around it.
std::string_view take_line(std::string_view& rest);

}  // namespace hocket
