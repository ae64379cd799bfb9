// Environment variables: the one place that reads them, and knows where each value came from.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/spi/status.hpp"

namespace hocket::environment {

// A value and the variable that held it, for messages.
struct Variable {
  std::string name;
  std::string value;
};

// The first of `names` that is set and not empty.
std::optional<Variable> find(std::initializer_list<const char*> names);

// The variable's value as a whole decimal number in low … high. Code::invalid_environment names variable, value and
// range.
Result<std::int64_t> to_integer(const Variable& variable, std::int64_t low, std::int64_t high);

// The variable's value as a number of bytes in low … high, as in "65536", "512K", "4M" or "1G" (powers of 1024).
Result<std::int64_t> to_bytes(const Variable& variable, std::int64_t low, std::int64_t high);

// on or 1: true; off or 0: false. Code::invalid_environment names variable and value; `others` are values besides.
Result<bool> to_switch(const Variable& variable, std::string_view others = "");

// A variable that Hocket reads, for people.
struct Known {
  std::string_view name;
  std::string_view standard;  // what holds where it is not set
  std::string_view meaning;
  std::array<const char*, 5> instead = {};  // other variables that count where it is not set, in this order
};
std::span<const Known> known();
// The variable of the table, or the first of those that count instead. `name` is in the table.
std::optional<Variable> in_force(std::string_view name);

// A sentence for each variable that begins with "HOCKET_" but is none that Hocket knows, with the nearest name that it
// knows. Names that environment modules and Kubernetes make by themselves (HOCKET_ROOT, HOCKET_STORE_SERVICE_HOST) are
// none of these.
std::vector<std::string> unknown_names();

}  // namespace hocket::environment
