#include "tools/plan/simulate.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "src/plan/network.hpp"
#include "tools/arguments.hpp"
#include "tools/plan/commands/commands.hpp"
#include "tools/plan/commands/group.hpp"

namespace hocket {
namespace {

constexpr std::size_t slices_max = std::size_t{1} << 18;

// A simulation takes time and memory for every slice.
void check_slices(const SimulateArguments& given) {
  if (given.slice_bytes == 0 || given.bytes / given.slice_bytes <= slices_max) return;
  throw UsageError{
      fmt::format("--bytes: {} bytes in slices of {} are more than {} slices; give a smaller size, or a "
                  "larger --slice-bytes (0 for one slice).",
                  given.bytes, given.slice_bytes, slices_max)};
}

void add_simulate_options(CLI::App* command, SimulateArguments& given) {
  command->add_option("COLLECTIVE", given.collective, "allreduce, broadcast ...")->required();
  command->add_option("--algorithm", given.algorithm, "name, as `list` shows it (all)");
  command->add_option("--ranks", given.ranks, "number of ranks")->check(CLI::Range(1, group_ranks_max));
  command->add_option("--topology", given.topology, "flat, HOSTSxRANKS as in 8x4, or a file (flat)");
  command->add_option("--cores", given.cores, "cores per host (default: one per rank)")
      ->check(CLI::Range(1, group_ranks_max));
  command->add_option("--bytes", given.bytes, "size of the larger buffer, as in 64K (1M)")
      ->transform(arguments::size(largest_bytes));
  command
      ->add_option("--slice-bytes", given.slice_bytes,
                   "how finely chunks are cut, 0 for not at all (512K, as calls do)")
      ->transform(arguments::size(largest_bytes));
  command->add_option("--root", given.root, "root (0)");
  command->add_flag("--in-place", given.in_place, "input and output are the same memory");
}

}  // namespace

Command add_cost(CLI::App& app) {
  const auto given = std::make_shared<SimulateArguments>();
  CLI::App* command = app.add_subcommand("cost", "what algorithms take, by formula and by simulation");
  add_simulate_options(command, *given);
  return {command, [given] {
            check_slices(*given);
            return cost_command(*given);
          }};
}

Command add_simulate(CLI::App& app) {
  const auto given = std::make_shared<SimulateArguments>();
  CLI::App* command = app.add_subcommand("simulate", "runs schedules on a described network");
  add_simulate_options(command, *given);
  command
      ->add_option("--calls", given->calls,
                   "this many calls in a row, as programs make them: a rank that is done goes on (1)")
      ->check(CLI::Range(1, 1000));
  CLI::Option* direct = command->add_flag("--direct", given->direct,
                                          "only the direct path that ranks take which share memory, on one host");
  command->add_flag("--registered", given->registered, "all its buffers are registered")->needs(direct);
  command->get_option("--algorithm")->excludes(direct);
  command->add_option("--trace", given->trace, "file for a trace that Perfetto shows")
      ->check(arguments::writable_file());
  command->add_option("--svg", given->svg, "file for a drawing of the timeline")->check(arguments::writable_file());
  return {command, [given] {
            check_slices(*given);
            return simulate_command(*given);
          }};
}

}  // namespace hocket
