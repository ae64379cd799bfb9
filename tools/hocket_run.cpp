// hocket-run: starts a program as several ranks on this machine.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "tools/arguments.hpp"
#include "tools/guarded_main.hpp"
#include "tools/launch.hpp"
#include "tools/launch_cores.hpp"

namespace {

constexpr int usage_error = 2;

int fail(const std::string& sentence) {
  fmt::print(stderr, "hocket-run: {}\n", sentence);
  return usage_error;
}

int run(int argc, char** argv) {
  CLI::App app(
      "hocket-run -n N [options] PROG [ARGS...]\n"
      "Starts PROG as N ranks on this machine, labels their output by rank, and ends all when one fails.\n"
      "Each rank gets RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT.\n"
      "The exit status is that of the first rank that failed (128 + signal if a signal killed it), else 0.",
      "hocket-run");
  hocket::launch::Options options;
  double grace = 5;
  bool no_label = false;
  const CLI::Option* ranks =
      app.add_option("-n,--ranks", options.ranks, "number of ranks (required)")->check(CLI::Range(1, 65536));
  app.add_flag("--no-label", no_label, "do not begin lines with the rank");
  app.add_option("--bind-to", options.binding,
                 "core: pin each rank to its own core; auto: pin if there are enough cores (none)")
      ->check(CLI::IsMember(hocket::launch::bindings))
      ->type_name("WHAT");
  app.add_flag("--stdin", options.input_to_rank_0, "rank 0 reads standard input (from a file or pipe)");
  app.add_option("--grace", grace, "seconds from SIGTERM to SIGKILL when the ranks are ended (5)")
      ->check(hocket::arguments::number(0, 3600));
  app.prefix_command();  // everything from PROG on belongs to PROG
  if (const auto ending = hocket::arguments::parse(app, argc, argv)) return hocket::arguments::show(*ending);
  options.command = app.remaining();
  if (!options.command.empty() && options.command.front() == "--") options.command.erase(options.command.begin());
  // Not by CLI11, which would ask for ranks where an option is misspelt.
  const bool misspelt = !options.command.empty() && options.command.front().starts_with('-');
  if (ranks->count() == 0 && !misspelt) return fail("--ranks is required. Run hocket-run --help for the options.");
  if (options.command.empty()) return fail("No program given. Usage: hocket-run -n N PROG ARGS...");
  if (misspelt) {
    return fail(fmt::format("Unknown option '{}'. Run hocket-run --help for the options.", options.command.front()));
  }
  if (options.input_to_rank_0 && isatty(STDIN_FILENO)) {
    return fail("--stdin needs a file or a pipe: ranks are not in the terminal's foreground and cannot read it.");
  }
  if (no_label) options.output = hocket::launch::Output::whole;
  options.grace = std::chrono::milliseconds(static_cast<std::int64_t>(grace * 1000));
  return hocket::launch::run(options);
}

}  // namespace

int main(int argc, char** argv) {
  return hocket::guarded_main("hocket-run", argc, argv, run);
}
