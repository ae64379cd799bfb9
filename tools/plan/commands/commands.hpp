// The commands of hocket-plan, each in a file of its own.
#pragma once

#include <functional>

namespace CLI {
class App;
}  // namespace CLI

namespace hocket {

struct Command {
  const CLI::App* app = nullptr;  // knows whether the command was given
  std::function<int()> run;       // after parsing; returns the exit status, and throws UsageError
};

// Each adds its command, with its options, to `app`.
Command add_list(CLI::App& app);
Command add_print(CLI::App& app);
Command add_verify(CLI::App& app);
Command add_choose(CLI::App& app);
Command add_compare(CLI::App& app);
Command add_cost(CLI::App& app);
Command add_simulate(CLI::App& app);
Command add_probe(CLI::App& app);
Command add_settings(CLI::App& app);

}  // namespace hocket
