#include "tools/plan/settings.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "tools/plan/commands/commands.hpp"

namespace hocket {

Command add_settings(CLI::App& app) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("settings", "variables in force, and what this host offers TCP");
  command->add_flag("--json", *json, "for programs");
  return {command, [json] { return show_settings(*json) ? 0 : 1; }};
}

}  // namespace hocket
