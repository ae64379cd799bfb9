// hocket-plan: shows, proves, explains and simulates the schedules of the catalog, and shows the settings that
// hold here. Its commands are in tools/plan/commands.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "tools/arguments.hpp"
#include "tools/guarded_main.hpp"
#include "tools/plan/commands/commands.hpp"
#include "tools/plan/usage.hpp"

namespace {

constexpr int usage_error = 2;

int run(int argc, char** argv) {
  CLI::App app(
      "Shows, proves, explains and simulates the schedules that collectives run as, and the settings in force.",
      "hocket-plan");
  std::vector<hocket::Command> commands;
  for (const auto add :
       {hocket::add_list, hocket::add_print, hocket::add_verify, hocket::add_choose, hocket::add_compare,
        hocket::add_cost, hocket::add_simulate, hocket::add_probe, hocket::add_settings}) {
    commands.push_back(add(app));
  }
  const auto ending = hocket::arguments::parse(app, argc, argv);
  if (ending && (ending->exit_status == 0 || !app.get_subcommands().empty())) return hocket::arguments::show(*ending);
  for (const hocket::Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  std::string names;
  for (const hocket::Command& command : commands) {
    names += fmt::format("{}{}",
                         names.empty()                  ? ""
                         : &command == &commands.back() ? " and "
                                                        : ", ",
                         command.app->get_name());
  }
  throw hocket::UsageError{fmt::format("Give one of the commands {}; see hocket-plan --help.", names)};
}

int run_guarded(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const hocket::UsageError& error) {
    fmt::print(stderr, "hocket-plan: {}\n", error.sentence);
    return usage_error;
  }
}

}  // namespace

int main(int argc, char** argv) {
  return hocket::guarded_main("hocket-plan", argc, argv, run_guarded);
}
