// Log lines, to standard error, at HOCKET_LOG_LEVEL (error, warn, info, debug; default warn) and above.
#pragma once

#include <string_view>

namespace hocket::log {

enum class Level { debug, info, warn, error };

// Any thread. Callers format with fmt::format; check enabled() first where formatting costs. A line for which there is
// no memory is left out.
bool enabled(Level level) noexcept;
void write(Level level, std::string_view message) noexcept;

inline void debug(std::string_view message) {
  write(Level::debug, message);
}
inline void info(std::string_view message) {
  write(Level::info, message);
}
inline void warn(std::string_view message) {
  write(Level::warn, message);
}
inline void error(std::string_view message) {
  write(Level::error, message);
}

}  // namespace hocket::log
