#include "tools/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "hocket/hocket.h"
#include "src/base/environment.hpp"

namespace hocket::arguments {
namespace {

constexpr int exit_usage = 2;

// Digits alone, few enough for 64 bits.
std::optional<std::uint64_t> whole_number(std::string_view digits) {
  constexpr std::size_t digits_max = 18;
  if (digits.empty() || digits.size() > digits_max) return std::nullopt;
  std::uint64_t value = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return value;
}

}  // namespace

std::optional<Ending> parse(CLI::App& app, int argc, const char* const* argv) {
  app.set_version_flag("--version", fmt::format("{} {}", app.get_name(), hocket_version()));
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success& wish) {
    std::ostringstream text;
    app.exit(wish, text, text);
    return Ending{0, text.str()};
  } catch (const CLI::ExtrasError&) {  // whose own text names them from the last to the first
    return Ending{exit_usage, fmt::format("{0}: Arguments not expected: {1}. Run {0} --help for the options.\n",
                                          app.get_name(), fmt::join(app.remaining(true), " "))};
  } catch (const CLI::ParseError& error) {
    return Ending{exit_usage, fmt::format("{0}: {1}. Run {0} --help for the options.\n", app.get_name(), error.what())};
  }
}

int show(const Ending& ending) {
  fmt::print(ending.exit_status == 0 ? stdout : stderr, "{}", ending.text);
  return ending.exit_status;
}

std::optional<Ending> refuse_ranks_below_launcher(std::string_view program) {
  const auto rank = environment::in_force("HOCKET_RANK");
  // Slurm sets its variable in batch scripts, too, which are no ranks.
  if (!rank || rank->name == "SLURM_PROCID") return std::nullopt;
  return Ending{exit_usage,
                fmt::format("{}: --ranks starts ranks here, but this process is rank {} of a launcher's ({} is "
                            "set): leave out --ranks, or the launcher.\n",
                            program, rank->value, rank->name)};
}

Result<std::uint64_t> parse_size(std::string_view text, std::uint64_t most) {
  constexpr std::string_view units = "KMGT";
  std::string_view digits = text;
  std::size_t shift = 0;
  if (!digits.empty()) {
    const char last = digits.back();
    const auto unit = units.find(last >= 'a' && last <= 'z' ? static_cast<char>(last - 'a' + 'A') : last);
    if (unit != std::string_view::npos) {
      shift = 10 * (unit + 1);
      digits.remove_suffix(1);
    }
  }
  const bool only_digits = !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (!only_digits) {
    return Status(Code::invalid_argument,
                  fmt::format("'{}' is not a size: write bytes, or a number with K, M, G or T, as in 64K.", text));
  }
  const auto value = whole_number(digits);
  if (!value || *value > (most >> shift)) {
    return Status(Code::invalid_argument, fmt::format("The size {} is too large.", text));
  }
  return *value << shift;
}

CLI::Validator size(std::uint64_t most) {
  const auto replace = [most](std::string& text) -> std::string {
    const auto bytes = parse_size(text, most);
    if (!bytes) {
      std::string sentence = bytes.status().message();
      sentence.pop_back();  // its full stop: parse() sets one
      return sentence;
    }
    text = std::to_string(*bytes);
    return {};
  };
  return {replace, "SIZE"};
}

CLI::Validator number(double low, double high) {
  const auto check = [low, high](const std::string& text) -> std::string {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool whole = !text.empty() && *end == '\0';
    if (whole && std::isfinite(value) && value >= low && value <= high) return {};
    return fmt::format("'{}' is not a number from {} to {}", text, low, high);
  };
  return {check, fmt::format("NUMBER in [{} - {}]", low, high)};
}

CLI::Validator one_of(std::vector<std::string> names) {
  const std::string all = fmt::to_string(fmt::join(names, ", "));
  const auto replace = [names = std::move(names), all](std::string& text) -> std::string {
    const auto found = std::ranges::find(names, text);
    if (found == names.end()) return fmt::format("'{}' is not one of {}", text, all);
    text = std::to_string(found - names.begin());
    return {};
  };
  return {replace, "one of " + all};
}

CLI::Validator not_empty() {
  const auto check = [](const std::string& text) { return text.empty() ? "a value is missing" : std::string(); };
  return {check, "TEXT"};
}

bool can_be_written(const std::string& file) {
  const std::filesystem::path path(file);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return false;
  if (std::filesystem::exists(path, ignored)) return ::access(path.c_str(), W_OK) == 0;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  return path.has_filename() && std::filesystem::is_directory(folder, ignored) &&
         ::access(folder.c_str(), W_OK | X_OK) == 0;
}

CLI::Validator writable_file() {
  const auto check = [](const std::string& text) {
    return can_be_written(text) ? std::string() : fmt::format("'{}' cannot be written", text);
  };
  return {check, "FILE"};
}

}  // namespace hocket::arguments
