// How hocket-plan shows that long work goes on.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace hocket {

// Rewrites one line of standard error where a person watches.
inline void show_progress(const std::string& text) {
  if (isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[K{}", text);
}

}  // namespace hocket
