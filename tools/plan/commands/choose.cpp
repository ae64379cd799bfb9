#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/plan/plan.hpp"
#include "src/plan/select.hpp"
#include "tools/arguments.hpp"
#include "tools/plan/class_model.hpp"
#include "tools/plan/commands/commands.hpp"
#include "tools/plan/commands/group.hpp"

namespace hocket {
namespace {

struct ChooseArguments {
  std::string collective, speed;
  Group group;
  bool deterministic = false;
  std::optional<std::size_t> bytes;
  ModelArguments model;  // of a described network, in place of the library's own choice
};

int choose(ChooseArguments given) {
  if (given.collective.empty()) throw UsageError{"COLLECTIVE is required, unless --topology names a network."};
  const Topology topology = take_hosts(given.group);
  const auto unequal = find_by_name(unequal_collectives, given.collective);
  const Collective collective = unequal ? info_of(*unequal).equal_blocks : collective_of(given.collective);
  Call call{.collective = collective,
            .size = given.group.ranks,
            .topology = topology,
            .cores = topology.hosts() == 1 && given.group.cores < given.group.ranks ? given.group.cores : 0,
            .in_rank_order = given.deterministic,
            .unequal = unequal.has_value(),
            .speed = find_by_name(all_network_speeds, given.speed).value_or(NetworkSpeed::unknown)};
  const auto selected = [&](std::size_t bytes) {
    call.bytes = bytes;
    return select(call);
  };
  const auto chosen = [&](std::size_t bytes) { return selected(bytes).algorithm; };
  if (given.bytes) {
    const Selection one = selected(*given.bytes);
    fmt::print("{}: {}\nClass {}; decided by {}.\n", one.algorithm->name, one.algorithm->summary, call.machine().name,
               one.explanation());
    return 0;
  }
  fmt::print("{} on {}, class {} (bytes of the larger buffer; what decides):\n", given.collective,
             ranks_text(given.group), call.machine().name);
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
    fmt::print("  {:<22} {:<19} {:<42} {}\n", range, algorithm->name, selected(from).explanation(), algorithm->summary);
    from = other;
  }
  return 0;
}

std::vector<std::string> speed_names() {
  std::vector<std::string> names;
  for (const NetworkSpeed speed : all_network_speeds) names.emplace_back(name_of(speed));
  return names;
}

std::vector<std::string> class_names() {
  std::vector<std::string> names;
  for (const MachineClass& machine : machine_classes()) names.emplace_back(machine.name);
  return names;
}

int run(const ChooseArguments& given) {
  if (given.model.topology.empty()) return choose(given);
  if (!given.model.machine_class.empty()) return write_class_table(given.model);
  return choose_by_model(for_group(given.model, given.collective, given.group));
}

}  // namespace

Command add_choose(CLI::App& app) {
  const auto given = std::make_shared<ChooseArguments>();
  CLI::App* command = app.add_subcommand("choose", "the algorithm that is selected, by size");
  command->add_option("COLLECTIVE", given->collective, "allreduce, broadcast ... (with --topology: all)");
  add_model(command, given->group, given->model);
  command->add_option("--speed", given->speed, "of the slowest network interface of any host (unknown)")
      ->check(CLI::IsMember(speed_names()));
  CLI::Option* deterministic =
      command->add_flag("--deterministic", given->deterministic, "what deterministic mode selects");
  CLI::Option* one_size =
      command->add_option("--bytes", given->bytes, "size of the larger buffer, as in 64K (all sizes)")
          ->transform(arguments::size(largest_bytes));
  CLI::Option* topology =
      command->add_option("--topology", given->model.topology, "what the model chooses on a network, as for simulate")
          ->excludes(one_size)
          ->excludes(deterministic);
  command
      ->add_option("--class", given->model.machine_class,
                   "the library's own table for machines of this class, from the costs of --topology")
      ->needs(topology)
      ->check(CLI::IsMember(class_names()).description("CLASS"));
  command
      ->add_option("--save,--output", given->model.save, "file for HOCKET_TUNING; tables for other groups stay in it")
      ->needs(topology)
      ->check(arguments::writable_file());
  return {command, [given] { return run(*given); }};
}

}  // namespace hocket
