#include "src/base/environment.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <system_error>
#include <vector>

namespace hocket::environment {
namespace {

constexpr std::string_view prefix = "HOCKET_";

// Every variable with our prefix that anything in Hocket reads.
constexpr std::array<std::string_view, 12> known_names = {
    "HOCKET_RANK",    "HOCKET_WORLD_SIZE",    "HOCKET_STORE",         "HOCKET_TIMEOUT_MS",
    "HOCKET_JOB",     "HOCKET_TRANSPORT",     "HOCKET_ALGORITHM",     "HOCKET_LOG_LEVEL",
    "HOCKET_HOST_ID", "HOCKET_SOCKET_IFNAME", "HOCKET_SOCKET_FAMILY", "HOCKET_SINGLE_COPY",
};

// Further than this from every known name, a guess would only mislead.
constexpr std::size_t furthest_suggestion = 4;

// Levenshtein: the fewest letters to insert, delete or replace to get from `a` to `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);  // distances from a's prefix so far to each prefix of b
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

Status unknown(std::string_view name) {
  const auto distance = [name](std::string_view candidate) { return edit_distance(name, candidate); };
  const auto nearest = std::ranges::min_element(known_names, {}, distance);
  if (distance(*nearest) <= furthest_suggestion) {
    return {
        Code::invalid_environment,
        fmt::format("{} is not a variable that Hocket knows; did you mean {}? Rename or unset it.", name, *nearest)};
  }
  return {Code::invalid_environment, fmt::format("{} is not a variable that Hocket knows; unset it or use one of {}.",
                                                 name, fmt::join(known_names, ", "))};
}

}  // namespace

std::optional<Variable> find(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return Variable{name, value};
  }
  return std::nullopt;
}

Result<std::int64_t> to_integer(const Variable& variable, std::int64_t low, std::int64_t high) {
  std::int64_t number = 0;
  const char* const end = variable.value.data() + variable.value.size();
  const auto [stop, error] = std::from_chars(variable.value.data(), end, number);
  if (error != std::errc() || stop != end || number < low || number > high) {
    return Status(Code::invalid_environment, fmt::format("{} is \"{}\"; set it to a whole number from {} to {}.",
                                                         variable.name, variable.value, low, high));
  }
  return number;
}

Status check_names() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view name = std::string_view(*entry).substr(0, std::string_view(*entry).find('='));
    if (name.starts_with(prefix) && std::ranges::find(known_names, name) == known_names.end()) return unknown(name);
  }
  return {};
}

}  // namespace hocket::environment
