// Text of strangers, made fit for a message or the log.
#pragma once

#include <string>
#include <string_view>

namespace hocket {

// The text in UTF-8, with everything that a terminal might obey (control characters, marks that turn the direction of
// writing) and everything that is no UTF-8 as \xNN, and cut with "…" where it would pass `bytes_max`.
std::string printable(std::string_view text, std::size_t bytes_max = 1024);

}  // namespace hocket
