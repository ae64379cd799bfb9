#include "src/base/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "src/base/environment.hpp"

namespace hocket::log {
namespace {

constexpr char level_variable[] = "HOCKET_LOG_LEVEL";

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::debug: return spdlog::level::debug;
    case Level::info: return spdlog::level::info;
    case Level::warn: return spdlog::level::warn;
    case Level::error: return spdlog::level::err;
  }
  return spdlog::level::err;
}

std::optional<Level> level_of(std::string_view name) {
  if (name == "debug") return Level::debug;
  if (name == "info") return Level::info;
  if (name == "warn") return Level::warn;
  if (name == "error") return Level::error;
  return std::nullopt;
}

// "hocket TIME LEVEL: ", with the rank where a launcher gave one. Only digits get in: a '%' would be an instruction.
std::string line_pattern() {
  std::string rank;
  if (const auto variable = environment::find({"HOCKET_RANK", "RANK"})) {
    const bool number = std::ranges::all_of(variable->value, [](char c) { return c >= '0' && c <= '9'; });
    if (number) rank = " rank " + variable->value;
  }
  return "hocket %H:%M:%S.%e" + rank + " %l: %v";
}

// Built directly, never registered: the process's own spdlog loggers stay untouched by ours.
spdlog::logger* make_logger() {
  auto logger = std::make_unique<spdlog::logger>("hocket", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern(line_pattern());
  logger->set_level(to_spdlog(Level::warn));
  if (const auto variable = environment::find({level_variable})) {
    if (const auto level = level_of(variable->value)) {
      logger->set_level(to_spdlog(*level));
    } else {
      logger->warn("{} is \"{}\"; set it to error, warn, info or debug. Using warn.", level_variable, variable->value);
    }
  }
  return logger.release();
}

spdlog::logger& logger() {
  // Never destroyed, since a thread may still write while the process exits.
  static spdlog::logger* const instance = make_logger();
  return *instance;
}

}  // namespace

bool enabled(Level level) noexcept {
  try {
    return logger().should_log(to_spdlog(level));
  } catch (...) {  // memory ran out
    return false;
  }
}

void write(Level level, std::string_view message) noexcept {
  try {
    logger().log(to_spdlog(level), spdlog::string_view_t(message.data(), message.size()));
  } catch (...) {  // memory ran out: the program goes on without the line
  }
}

}  // namespace hocket::log
