#include "tools/plan/usage.hpp"

#include <fmt/format.h>

#include <vector>

namespace hocket {

Collective collective_of(const std::string& name) {
  if (const auto found = find_by_name(all_collectives, name)) return *found;
  if (const auto unequal = find_by_name(unequal_collectives, name)) {
    throw UsageError{
        fmt::format("{0} runs the schedules of {1}: ask for {1}.", name, name_of(info_of(*unequal).equal_blocks))};
  }
  std::string names;
  for (const Collective collective : all_collectives) names += fmt::format(", {}", name_of(collective));
  throw UsageError{fmt::format("COLLECTIVE: '{}' is not one of {}.", name, names.substr(2))};
}

const Algorithm& algorithm_of(Collective collective, const std::string& name) {
  if (const Algorithm* found = find_algorithm(collective, name)) return *found;
  std::vector<const Algorithm*> choices;
  std::string names;
  for (const Algorithm& algorithm : catalog()) {
    if (algorithm.collective != collective) continue;
    choices.push_back(&algorithm);
    names += fmt::format(", {}", algorithm.name);
  }
  if (name.empty() && choices.size() == 1) return *choices.front();
  if (name.empty()) {
    throw UsageError{fmt::format("--algorithm is missing: {} has {}.", name_of(collective), names.substr(2))};
  }
  throw UsageError{fmt::format("--algorithm: {} has no '{}', only {}.", name_of(collective), name, names.substr(2))};
}

void check_rank(std::string_view option, Rank rank, Rank ranks) {
  if (rank >= 0 && rank < ranks) return;
  throw UsageError{
      fmt::format("{} {} is not a rank: with --ranks {} they go from 0 to {}.", option, rank, ranks, ranks - 1)};
}

}  // namespace hocket
