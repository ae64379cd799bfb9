#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "src/spi/schedule.hpp"
#include "tools/plan/commands/commands.hpp"

namespace hocket {
namespace {

int list() {
  fmt::print("{:<15} {:<19} {}\n", "collective", "algorithm", "what it does, for N ranks");
  for (const Algorithm& algorithm : catalog()) {
    fmt::print("{:<15} {:<19} {}{}\n", name_of(algorithm.collective), algorithm.name, algorithm.summary,
               algorithm.in_rank_order ? "; in rank order" : "");
  }
  return 0;
}

}  // namespace

Command add_list(CLI::App& app) {
  return {app.add_subcommand("list", "all algorithms"), list};
}

}  // namespace hocket
