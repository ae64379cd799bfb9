#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "tools/arguments.hpp"
#include "tools/plan/commands/commands.hpp"
#include "tools/plan/commands/group.hpp"

namespace hocket {
namespace {

struct CompareArguments {
  std::string collective;
  Group group;
  ModelArguments model;
};

}  // namespace

Command add_compare(CLI::App& app) {
  const auto given = std::make_shared<CompareArguments>();
  CLI::App* command = app.add_subcommand("compare", "what the model expects of all algorithms, side by side");
  command->add_option("COLLECTIVE", given->collective, "allreduce, broadcast ... (all)");
  add_model(command, given->group, given->model);
  command->add_option("--topology", given->model.topology, "flat, HOSTSxRANKS as in 8x4, or a file")->required();
  command->add_option("--bytes", given->model.bytes_list, "sizes of the larger buffer, as in 4K,64K,1M (many)")
      ->check(arguments::not_empty());
  return {command, [given] { return compare_command(for_group(given->model, given->collective, given->group)); }};
}

}  // namespace hocket
