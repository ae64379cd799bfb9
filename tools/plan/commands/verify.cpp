#include "src/plan/verify.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/plan/select.hpp"
#include "tools/plan/commands/commands.hpp"
#include "tools/plan/commands/group.hpp"
#include "tools/plan/progress.hpp"

namespace hocket {
namespace {

constexpr Rank verify_ranks_max = 512;  // time and memory grow with the square

struct VerifyArguments {
  std::string collective, algorithm, rank_list = "1-33";
};

// "2-33,64"
std::vector<Rank> parse_rank_list(const std::string& text) {
  const UsageError wrong{fmt::format("--ranks: '{}' is not a list of numbers and ranges from 1 to {}, as in 2-33,64.",
                                     text, verify_ranks_max)};
  const auto parse = [&](const std::string& digits) { return parse_number(digits, verify_ranks_max, wrong); };
  std::vector<Rank> sizes;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::size_t dash = part.find('-');
    const Rank first = parse(part.substr(0, dash));
    const Rank last = dash == std::string::npos ? first : parse(part.substr(dash + 1));
    if (last < first) throw wrong;
    for (Rank size = first; size <= last; ++size) sizes.push_back(size);
    begin = end + 1;
  }
  return sizes;
}

// Whether all passed. Costs are those of the largest number of ranks.
bool verify_algorithm(const Algorithm& algorithm, const std::vector<Rank>& sizes, const std::string& list) {
  const auto began = std::chrono::steady_clock::now();
  std::size_t cases = 0;
  Rank largest = 0;
  Verified costs;
  for (const Rank size : sizes) {
    show_progress(fmt::format("{} {} on {} ranks ...", algorithm.name, name_of(algorithm.collective), size));
    for (const VerifyCase& tried : verify_cases(algorithm, size)) {
      const Result<Verified> result = verify(algorithm, size, tried.root, tried.options);
      if (!result) {
        show_progress("");
        fmt::print("{:<15} {:<19} {:<10} FAILED: {}\n", name_of(algorithm.collective), algorithm.name, size,
                   result.status().message());
        return false;
      }
      ++cases;
      if (size > largest) {
        largest = size;
        costs = *result;
      }
    }
  }
  show_progress("");
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  fmt::print("{:<15} {:<19} {:<10} {:>6} {:>8} {:>7} {:>7} {:>6} {:>8.2f}\n", name_of(algorithm.collective),
             algorithm.name, list, cases, costs.rounds, costs.sends_max, costs.chunks_sent_max, costs.scratch_cells_max,
             seconds.count());
  return true;
}

int verify(const VerifyArguments& given) {
  std::optional<Collective> collective;
  if (!given.collective.empty()) collective = collective_of(given.collective);
  if (collective && !given.algorithm.empty()) algorithm_of(*collective, given.algorithm);
  if (!collective && !given.algorithm.empty() &&
      (given.algorithm == automatic_algorithm || !known_algorithm(given.algorithm))) {
    throw UsageError{fmt::format("--algorithm: there is no '{}'; see hocket-plan list.", given.algorithm)};
  }
  const std::vector<Rank> sizes = parse_rank_list(given.rank_list);
  const Rank largest = *std::ranges::max_element(sizes);
  fmt::print("{:<15} {:<19} {:<10} {:>6} {:>8} {:>7} {:>7} {:>6} {:>8}\n", "collective", "algorithm", "ranks", "cases",
             "rounds", "sends", "chunks", "cells", "seconds");
  bool all_passed = true;
  for (const Algorithm& algorithm : catalog()) {
    if (collective && algorithm.collective != *collective) continue;
    if (!given.algorithm.empty() && algorithm.name != given.algorithm) continue;
    all_passed = verify_algorithm(algorithm, sizes, given.rank_list) && all_passed;
  }
  fmt::print("{} Rounds, sends, chunks sent and scratch cells are the busiest rank's with {} ranks.\n",
             all_passed ? "All passed." : "FAILED.", largest);
  return all_passed ? 0 : 1;
}

}  // namespace

Command add_verify(CLI::App& app) {
  const auto given = std::make_shared<VerifyArguments>();
  CLI::App* command = app.add_subcommand("verify", "proves schedules for all ranks, roots and placements");
  command->add_option("COLLECTIVE", given->collective, "allreduce, broadcast ... (all)");
  command->add_option("--algorithm", given->algorithm, "name, as `list` shows it (all)");
  command->add_option("--ranks", given->rank_list, "numbers of ranks, as in 2-33,64 (1-33)");
  return {command, [given] { return verify(*given); }};
}

}  // namespace hocket
