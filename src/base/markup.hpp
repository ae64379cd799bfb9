// Text in pages and pictures.
#pragma once

#include <string>
#include <string_view>

namespace hocket {

// For text in SVG and HTML, and in attributes there.
std::string escaped(std::string_view text);

}  // namespace hocket
