// hocket-plan: shows, proves and explains the schedules of the catalog.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>
#include <utility>

#include "src/plan/plan.hpp"
#include "src/plan/text.hpp"
#include "src/plan/verify.hpp"

namespace {

using namespace hocket;

constexpr int failed = 1;
constexpr int usage_error = 2;
constexpr Rank print_ranks_max = 4096;
constexpr Rank verify_ranks_max = 512;  // time and memory grow with the square
constexpr std::size_t largest_bytes = std::size_t{1} << 40;

// What a person wrote wrong, as one sentence.
struct UsageError {
  std::string sentence;
};

struct Arguments {
  std::string collective, algorithm, rank_list = "1-33";
  Rank ranks = 0;
  std::optional<Rank> rank, root;
  bool in_place = false;
  std::optional<std::size_t> bytes;
};

bool is_point_to_point(Collective collective) {
  return collective == Collective::send || collective == Collective::recv;
}

Collective collective_of(const std::string& name) {
  if (const auto found = find_by_name(all_collectives, name)) return *found;
  std::string names;
  for (const Collective collective : all_collectives) names += fmt::format(", {}", name_of(collective));
  throw UsageError{fmt::format("COLLECTIVE: '{}' is none of {}.", name, names.substr(2))};
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
      fmt::format("{} {} is no rank: with --ranks {} they go from 0 to {}.", option, rank, ranks, ranks - 1)};
}

// "2-33,64"
std::vector<Rank> parse_rank_list(const std::string& text) {
  const UsageError wrong{fmt::format("--ranks: '{}' is no list of numbers and ranges from 1 to {}, as in 2-33,64.",
                                     text, verify_ranks_max)};
  const auto parse = [&](const std::string& digits) {
    if (digits.empty() || digits.size() > 4 || digits.find_first_not_of("0123456789") != std::string::npos) throw wrong;
    const Rank value = std::stoi(digits);
    if (value < 1 || value > verify_ranks_max) throw wrong;
    return value;
  };
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

int list() {
  fmt::print("{:<15} {:<19} {}\n", "collective", "algorithm", "what it does, for N ranks");
  for (const Algorithm& algorithm : catalog()) {
    fmt::print("{:<15} {:<19} {}\n", name_of(algorithm.collective), algorithm.name, algorithm.summary);
  }
  return 0;
}

// ---- print ----------------------------------------------------------------------------------------------------------

void print_program(const Program& program) {
  std::vector<std::string> after(program.instructions.size());
  for (std::uint32_t index = 0; index < program.instructions.size(); ++index) {
    for (const std::uint32_t later : program.successors_of(program.instructions[index])) {
      after[later] += fmt::format("{}{}", after[later].empty() ? "after " : ", ", index);
    }
  }
  if (program.instructions.empty()) fmt::print("      nothing to do\n");
  for (std::uint32_t index = 0; index < program.instructions.size(); ++index) {
    const std::string step = describe(program.instructions[index].step);
    fmt::print("{:5}  {:<{}}{}\n", index, step, after[index].empty() ? 0 : 68, after[index]);
  }
}

int print(const Arguments& given) {
  const Collective collective = collective_of(given.collective);
  const Algorithm& algorithm = algorithm_of(collective, given.algorithm);
  if (given.rank) check_rank("--rank", *given.rank, given.ranks);
  if (given.root) {
    if (!has_root(collective) && !is_point_to_point(collective)) {
      throw UsageError{fmt::format("--root: {} has no root.", given.collective)};
    }
    check_rank("--root", *given.root, given.ranks);
  }
  const Placement placement = given.in_place ? Placement::in_place : Placement::out_of_place;
  const Rank root = given.root.value_or(0);

  std::string rooted;
  if (has_root(collective)) rooted = fmt::format(", root {}", root);
  if (is_point_to_point(collective)) rooted = fmt::format(", peer {}", root);
  const std::uint32_t chunks = chunks_of(algorithm, given.ranks);
  fmt::print("{} {} on {} rank{}{}, {}, {} chunk{}: {}\n", algorithm.name, given.collective, given.ranks,
             given.ranks == 1 ? "" : "s", rooted, given.in_place ? "in place" : "out of place", chunks,
             chunks == 1 ? "" : "s", algorithm.summary);
  for (Rank rank = 0; rank < given.ranks; ++rank) {
    if (given.rank && rank != *given.rank) continue;
    const Schedule schedule = algorithm.write(rank, given.ranks, root);
    fmt::print("\nrank {}, {} scratch cell{}\n", rank, schedule.scratch_cells, schedule.scratch_cells == 1 ? "" : "s");
    print_program(compile(schedule, placement, 1));
  }
  return 0;
}

// ---- verify ---------------------------------------------------------------------------------------------------------

// Rewrites one line of standard error where a person watches.
void show_progress(const std::string& text) {
  if (isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[K{}", text);
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

int verify(const Arguments& given) {
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
  return all_passed ? 0 : failed;
}

// ---- choose ---------------------------------------------------------------------------------------------------------

int choose(const Arguments& given) {
  const Collective collective = collective_of(given.collective);
  const auto chosen = [&](std::size_t bytes) {
    return &select_algorithm({.collective = collective, .size = given.ranks, .bytes = bytes}, automatic_algorithm);
  };
  if (given.bytes) {
    fmt::print("{}: {}\n", chosen(*given.bytes)->name, chosen(*given.bytes)->summary);
    return 0;
  }
  fmt::print("{} on {} rank{} (bytes of the larger buffer):\n", given.collective, given.ranks,
             given.ranks == 1 ? "" : "s");
  for (std::size_t from = 0; from < largest_bytes;) {
    // The last size with the same choice: by doubling, then by halving. Shorter islands than that are not in the table.
    const Algorithm* algorithm = chosen(from);
    std::size_t same = from, other = std::max<std::size_t>(2 * from, 1);
    while (other < largest_bytes && chosen(other) == algorithm) same = std::exchange(other, 2 * other);
    while (other < largest_bytes && same + 1 < other) {
      const std::size_t middle = same + (other - same) / 2;
      (chosen(middle) == algorithm ? same : other) = middle;
    }
    const std::string range =
        other >= largest_bytes ? fmt::format("from {}", from) : fmt::format("{} to {}", from, same);
    fmt::print("  {:<22} {:<19} {}\n", range, algorithm->name, algorithm->summary);
    from = other;
  }
  return 0;
}

int run(int argc, char** argv) {
  CLI::App app("Shows, proves and explains the schedules that collectives run as.", "hocket-plan");
  const UsageError no_command{"Give one of the commands list, print, verify and choose; see hocket-plan --help."};
  Arguments given;

  CLI::App* list_command = app.add_subcommand("list", "all algorithms");
  CLI::App* print_command = app.add_subcommand("print", "the steps of each rank, and what each step waits for");
  print_command->add_option("COLLECTIVE", given.collective, "allreduce, broadcast ...")->required();
  print_command->add_option("--algorithm", given.algorithm, "name, as `list` shows it");
  print_command->add_option("--ranks", given.ranks, "number of ranks")
      ->required()
      ->check(CLI::Range(1, print_ranks_max));
  print_command->add_option("--rank", given.rank, "only this rank (all)");
  print_command->add_option("--root", given.root, "root, or the peer of send and recv (0)");
  print_command->add_flag("--in-place", given.in_place, "input and output are the same memory");

  CLI::App* verify_command = app.add_subcommand("verify", "proves schedules for all ranks, roots and placements");
  verify_command->add_option("COLLECTIVE", given.collective, "allreduce, broadcast ... (all)");
  verify_command->add_option("--algorithm", given.algorithm, "name, as `list` shows it (all)");
  verify_command->add_option("--ranks", given.rank_list, "numbers of ranks, as in 2-33,64 (1-33)");

  CLI::App* choose_command = app.add_subcommand("choose", "the algorithm that is selected, by size");
  choose_command->add_option("COLLECTIVE", given.collective, "allreduce, broadcast ...")->required();
  choose_command->add_option("--ranks", given.ranks, "number of ranks")->required()->check(CLI::Range(1, 1 << 20));
  choose_command->add_option("--bytes", given.bytes, "size of the larger buffer, as in 64K (all sizes)")
      ->transform(CLI::AsSizeValue(false));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    if (app.get_subcommands().empty()) throw no_command;
    throw UsageError{fmt::format("{}. See hocket-plan --help.", error.what())};
  }
  if (app.get_subcommands().empty()) throw no_command;
  if (*list_command) return list();
  if (*print_command) return print(given);
  return *verify_command ? verify(given) : choose(given);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const UsageError& error) {
    fmt::print(stderr, "hocket-plan: {}\n", error.sentence);
    return usage_error;
  }
}
