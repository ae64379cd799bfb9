// What a small file holds: of /proc or /sys, or one with settings.
#pragma once

#include <optional>
#include <string>

namespace hocket {

// Nothing where it cannot be read; errno says why. Throws where memory runs out, which a stream takes for the end.
std::optional<std::string> file_contents(const std::string& path);

}  // namespace hocket
