#include "tools/plan/probe.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "tools/arguments.hpp"
#include "tools/plan/commands/commands.hpp"

namespace hocket {

Command add_probe(CLI::App& app) {
  const auto given = std::make_shared<ProbeArguments>();
  CLI::App* command = app.add_subcommand("probe", "measures what messages cost here, for --topology");
  command->add_option("--save,--output", given->save, "file for what was measured")->check(arguments::not_empty());
  command->add_flag("--force", given->force, "overwrite the file even if something disturbed the measurement");
  return {command, [given] { return probe_command(*given); }};
}

}  // namespace hocket
