#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "src/plan/plan.hpp"
#include "src/plan/text.hpp"
#include "tools/plan/commands/commands.hpp"
#include "tools/plan/commands/group.hpp"

namespace hocket {
namespace {

struct PrintArguments {
  std::string collective, algorithm;
  Group group;
  std::optional<Rank> rank, root;
  bool in_place = false;
};

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
    fmt::print("{:5}  {:<{}}{}\n", index, step, after[index].empty() ? 0 : 76, after[index]);
  }
}

int print(PrintArguments given) {
  const Topology topology = take_hosts(given.group);
  const Collective collective = collective_of(given.collective);
  if (given.rank) check_rank("--rank", *given.rank, given.group.ranks);
  if (given.root) {
    if (!info_of(collective).takes_root()) {
      throw UsageError{fmt::format("--root: {} has no root.", given.collective)};
    }
    check_rank("--root", *given.root, given.group.ranks);
  }
  const Algorithm& algorithm = algorithm_of(collective, given.algorithm);
  const Placement placement = given.in_place ? Placement::in_place : Placement::out_of_place;
  const Rank root = given.root.value_or(0);

  std::string rooted;
  if (info_of(collective).has_root()) rooted = fmt::format(", root {}", root);
  if (info_of(collective).is_message()) rooted = fmt::format(", peer {}", root);
  const std::uint32_t chunks = chunks_of(algorithm, given.group.ranks, topology);
  fmt::print("{} {} on {}{}, {}, {} chunk{}: {}\n", algorithm.name, given.collective, ranks_text(given.group), rooted,
             given.in_place ? "in place" : "out of place", chunks, chunks == 1 ? "" : "s", algorithm.summary);
  for (Rank rank = 0; rank < given.group.ranks; ++rank) {
    if (given.rank && rank != *given.rank) continue;
    const Schedule schedule = algorithm.write(rank, given.group.ranks, root, topology);
    fmt::print("\nrank {}, {} scratch cell{}\n", rank, schedule.scratch_cells, schedule.scratch_cells == 1 ? "" : "s");
    print_program(compile(schedule, placement, 1));
  }
  return 0;
}

}  // namespace

Command add_print(CLI::App& app) {
  const auto given = std::make_shared<PrintArguments>();
  CLI::App* command = app.add_subcommand("print", "the steps of each rank, and what each step waits for");
  command->add_option("COLLECTIVE", given->collective, "allreduce, broadcast ...")->required();
  command->add_option("--algorithm", given->algorithm, "name, as `list` shows it");
  command->add_option("--ranks", given->group.ranks, "number of ranks")->check(CLI::Range(1, print_ranks_max));
  add_hosts(command, given->group);
  command->add_option("--rank", given->rank, "only this rank (all)");
  command->add_option("--root", given->root, "root, or the peer of send and recv (0)");
  command->add_flag("--in-place", given->in_place, "input and output are the same memory");
  return {command, [given] { return print(*given); }};
}

}  // namespace hocket
