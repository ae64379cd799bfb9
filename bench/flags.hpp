// The flags of hocket-bench, with what its help says of each.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "bench/options.hpp"

namespace hocket::bench {

// As the user wrote them.
struct Written {
  std::string collective;
  std::string min = "4", max = "64M", step;
  std::uint64_t factor = 4;
  std::string dtype = "float32", op = "sum", root = "0", placement = "both", wire = "exact", kill;
};

// "sum, prod, min", of a table of things that have names.
template <class Table>
std::string names_of(const Table& table) {
  std::string names;
  for (const auto& entry : table) names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(entry));
  return names;
}

// Of everything that can be measured.
std::string benchmark_names();

// The flags that say what is measured. Returns that of the largest size.
CLI::Option* add_subject(CLI::App& app, Written& written, Options& options);
// The flags that say how it is measured, and where the results go.
void add_method(CLI::App& app, Written& written, Options& options);

}  // namespace hocket::bench
