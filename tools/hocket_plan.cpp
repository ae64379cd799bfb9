// hocket-plan: shows, proves, explains and simulates the schedules of the catalog, and shows the settings that
// hold here.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>
#include <utility>

#include "src/plan/network.hpp"
#include "src/plan/plan.hpp"
#include "src/plan/select.hpp"
#include "src/plan/text.hpp"
#include "src/plan/verify.hpp"
#include "tools/arguments.hpp"
#include "tools/plan/class_model.hpp"
#include "tools/plan/model.hpp"
#include "tools/plan/probe.hpp"
#include "tools/plan/settings.hpp"
#include "tools/plan/simulate.hpp"
#include "tools/plan/usage.hpp"

namespace {

using namespace hocket;

constexpr int failed = 1;
constexpr int usage_error = 2;
constexpr Rank print_ranks_max = 4096;
constexpr Rank verify_ranks_max = 512;  // time and memory grow with the square
constexpr std::size_t largest_bytes = std::size_t{1} << 40;
constexpr std::size_t slices_max = std::size_t{1} << 18;

struct Arguments {
  std::string collective, algorithm, hosts, speed, rank_list = "1-33";
  Rank ranks = 0, cores = 0;
  std::optional<Rank> rank, root;
  bool in_place = false, json = false, deterministic = false;
  std::optional<std::size_t> bytes;
};

// From 1 to `most`; throws `wrong` where it is none.
Rank parse_number(const std::string& digits, Rank most, const UsageError& wrong) {
  if (digits.empty() || digits.size() > 4 || digits.find_first_not_of("0123456789") != std::string::npos) throw wrong;
  const Rank value = std::stoi(digits);
  if (value < 1 || value > most) throw wrong;
  return value;
}

// "2-33,64"
std::vector<Rank> parse_rank_list(const std::string& text) {
  const UsageError wrong{fmt::format("--ranks: '{}' is no list of numbers and ranges from 1 to {}, as in 2-33,64.",
                                     text, verify_ranks_max)};
  const auto parse = [&](const std::string& digits) { return parse_number(digits, verify_ranks_max, wrong); };
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

// "4,4,2": the first four ranks on one host, the next four on another ... Sets the number of ranks.
Topology take_hosts(Arguments& given) {
  if (given.hosts.empty()) {
    if (given.ranks == 0) throw UsageError{"--ranks is required, unless --hosts is given. See hocket-plan --help."};
    return {};
  }
  const UsageError wrong{fmt::format("--hosts: '{}' is no list of numbers of ranks, at most {} in all, as in 4,4,2.",
                                     given.hosts, print_ranks_max)};
  std::vector<std::uint32_t> host_by_rank;
  std::uint32_t host = 0;
  for (std::size_t begin = 0; begin <= given.hosts.size(); ++host) {
    const std::size_t end = std::min(given.hosts.find(',', begin), given.hosts.size());
    const Rank ranks = parse_number(given.hosts.substr(begin, end - begin), print_ranks_max, wrong);
    host_by_rank.insert(host_by_rank.end(), static_cast<std::size_t>(ranks), host);
    if (host_by_rank.size() > static_cast<std::size_t>(print_ranks_max)) throw wrong;
    begin = end + 1;
  }
  const auto ranks = static_cast<Rank>(host_by_rank.size());
  if (given.ranks != 0 && given.ranks != ranks) {
    throw UsageError{fmt::format("--hosts {} are {} ranks, but --ranks says {}.", given.hosts, ranks, given.ranks)};
  }
  given.ranks = ranks;
  return Topology(host_by_rank);
}

std::string ranks_text(const Arguments& given) {
  return fmt::format("{} rank{}{}", given.ranks, given.ranks == 1 ? "" : "s",
                     given.hosts.empty() ? "" : fmt::format(" on hosts of {}", given.hosts));
}

int list() {
  fmt::print("{:<15} {:<19} {}\n", "collective", "algorithm", "what it does, for N ranks");
  for (const Algorithm& algorithm : catalog()) {
    fmt::print("{:<15} {:<19} {}{}\n", name_of(algorithm.collective), algorithm.name, algorithm.summary,
               algorithm.in_rank_order ? "; in rank order" : "");
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
    fmt::print("{:5}  {:<{}}{}\n", index, step, after[index].empty() ? 0 : 76, after[index]);
  }
}

int print(Arguments given) {
  const Topology topology = take_hosts(given);
  const Collective collective = collective_of(given.collective);
  if (given.rank) check_rank("--rank", *given.rank, given.ranks);
  if (given.root) {
    if (!info_of(collective).takes_root()) {
      throw UsageError{fmt::format("--root: {} has no root.", given.collective)};
    }
    check_rank("--root", *given.root, given.ranks);
  }
  const Algorithm& algorithm = algorithm_of(collective, given.algorithm);
  const Placement placement = given.in_place ? Placement::in_place : Placement::out_of_place;
  const Rank root = given.root.value_or(0);

  std::string rooted;
  if (has_root(collective)) rooted = fmt::format(", root {}", root);
  if (info_of(collective).is_message()) rooted = fmt::format(", peer {}", root);
  const std::uint32_t chunks = chunks_of(algorithm, given.ranks, topology);
  fmt::print("{} {} on {}{}, {}, {} chunk{}: {}\n", algorithm.name, given.collective, ranks_text(given), rooted,
             given.in_place ? "in place" : "out of place", chunks, chunks == 1 ? "" : "s", algorithm.summary);
  for (Rank rank = 0; rank < given.ranks; ++rank) {
    if (given.rank && rank != *given.rank) continue;
    const Schedule schedule = algorithm.write(rank, given.ranks, root, topology);
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

int choose(Arguments given) {
  if (given.collective.empty()) throw UsageError{"COLLECTIVE is required, unless --topology names a network."};
  const Topology topology = take_hosts(given);
  const auto uneven = find_by_name(uneven_collectives, given.collective);
  const Collective collective = uneven ? info_of(*uneven).equal_blocks : collective_of(given.collective);
  Call call{.collective = collective,
            .size = given.ranks,
            .topology = topology,
            .cores = topology.hosts() == 1 && given.cores < given.ranks ? given.cores : 0,
            .in_rank_order = given.deterministic,
            .uneven = uneven.has_value(),
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
  fmt::print("{} on {}, class {} (bytes of the larger buffer; what decides):\n", given.collective, ranks_text(given),
             call.machine().name);
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

// ---- cost, simulate and compare -------------------------------------------------------------------------------------

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
  command->add_option("--ranks", given.ranks, "number of ranks")->check(CLI::Range(1, network_ranks_max));
  command->add_option("--topology", given.topology, "flat, HOSTSxRANKS as in 8x4, or a file (flat)");
  command->add_option("--cores", given.cores, "cores that one host's ranks share (a core for each)")
      ->check(CLI::Range(1, network_ranks_max));
  command->add_option("--bytes", given.bytes, "size of the larger buffer, as in 64K (1M)")
      ->transform(arguments::size(largest_bytes));
  command
      ->add_option("--slice-bytes", given.slice_bytes,
                   "how finely chunks are cut, 0 for not at all (512K, as calls do)")
      ->transform(arguments::size(largest_bytes));
  command->add_option("--root", given.root, "root (0)");
  command->add_flag("--in-place", given.in_place, "input and output are the same memory");
}

void add_hosts(CLI::App* command, Arguments& given) {
  command->add_option("--hosts", given.hosts, "ranks of each host, as in 4,4,2 (all on one)");
}

// Options of choose and compare.
void add_group(CLI::App* command, Arguments& given, ModelArguments& model) {
  command->add_option("--ranks", given.ranks, "number of ranks")->check(CLI::Range(1, network_ranks_max));
  add_hosts(command, given);
  command->add_option("--cores", given.cores, "cores that one host's ranks share (a core for each; the network's)")
      ->check(CLI::Range(1, network_ranks_max));
  command->add_flag("--tcp", model.tcp, "ranks of one host exchange over TCP, too (HOCKET_TRANSPORT=tcp)");
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

void add_choose(CLI::App& app, Arguments& given, ModelArguments& model) {
  CLI::App* command = app.add_subcommand("choose", "the algorithm that is selected, by size");
  command->add_option("COLLECTIVE", given.collective, "allreduce, broadcast ... (with --topology: all)");
  add_group(command, given, model);
  command->add_option("--speed", given.speed, "of the slowest network interface of any host (unknown)")
      ->check(CLI::IsMember(speed_names()));
  CLI::Option* deterministic =
      command->add_flag("--deterministic", given.deterministic, "what deterministic mode selects");
  CLI::Option* one_size =
      command->add_option("--bytes", given.bytes, "size of the larger buffer, as in 64K (all sizes)")
          ->transform(arguments::size(largest_bytes));
  CLI::Option* topology =
      command->add_option("--topology", model.topology, "what the model chooses on a network, as for simulate")
          ->excludes(one_size)
          ->excludes(deterministic);
  command
      ->add_option("--class", model.machine_class,
                   "the library's own table for machines of this class, from the costs of --topology")
      ->needs(topology)
      ->check(CLI::IsMember(class_names()));
  command->add_option("--save", model.save, "file for HOCKET_TUNING; tables for other groups stay in it")
      ->needs(topology)
      ->check(arguments::writable_file());
}

CLI::App* add_compare(CLI::App& app, Arguments& given, ModelArguments& model) {
  CLI::App* command = app.add_subcommand("compare", "what the model expects of all algorithms, side by side");
  command->add_option("COLLECTIVE", given.collective, "allreduce, broadcast ... (all)");
  add_group(command, given, model);
  command->add_option("--topology", model.topology, "flat, HOSTSxRANKS as in 8x4, or a file")->required();
  command->add_option("--bytes", model.bytes_list, "sizes of the larger buffer, as in 4K,64K,1M (many)")
      ->check(arguments::not_empty());
  return command;
}

int run_model(Arguments given, ModelArguments model, bool chooses) {
  if (!given.hosts.empty()) model.hosts = take_hosts(given);
  model.collective = given.collective;
  model.ranks = given.ranks;
  model.cores = given.cores;
  return chooses ? choose_by_model(model) : compare_command(model);
}

int run(int argc, char** argv) {
  CLI::App app(
      "Shows, proves, explains and simulates the schedules that collectives run as, and the settings in force.",
      "hocket-plan");
  const UsageError no_command{
      "Give one of the commands list, print, verify, choose, compare, cost, simulate, probe and settings; see "
      "hocket-plan --help."};
  Arguments given;

  CLI::App* list_command = app.add_subcommand("list", "all algorithms");
  CLI::App* print_command = app.add_subcommand("print", "the steps of each rank, and what each step waits for");
  print_command->add_option("COLLECTIVE", given.collective, "allreduce, broadcast ...")->required();
  print_command->add_option("--algorithm", given.algorithm, "name, as `list` shows it");
  print_command->add_option("--ranks", given.ranks, "number of ranks")->check(CLI::Range(1, print_ranks_max));
  add_hosts(print_command, given);
  print_command->add_option("--rank", given.rank, "only this rank (all)");
  print_command->add_option("--root", given.root, "root, or the peer of send and recv (0)");
  print_command->add_flag("--in-place", given.in_place, "input and output are the same memory");

  CLI::App* verify_command = app.add_subcommand("verify", "proves schedules for all ranks, roots and placements");
  verify_command->add_option("COLLECTIVE", given.collective, "allreduce, broadcast ... (all)");
  verify_command->add_option("--algorithm", given.algorithm, "name, as `list` shows it (all)");
  verify_command->add_option("--ranks", given.rank_list, "numbers of ranks, as in 2-33,64 (1-33)");

  ModelArguments model;
  add_choose(app, given, model);
  CLI::App* compare_app = add_compare(app, given, model);

  SimulateArguments simulated;
  CLI::App* cost_app = app.add_subcommand("cost", "what algorithms take, by formula and by simulation");
  add_simulate_options(cost_app, simulated);
  CLI::App* simulate_app = app.add_subcommand("simulate", "runs schedules on a described network");
  add_simulate_options(simulate_app, simulated);
  simulate_app
      ->add_option("--calls", simulated.calls, "so many in a row, as programs make them: ranks that are done go on (1)")
      ->check(CLI::Range(1, 1000));
  simulate_app->add_option("--trace", simulated.trace, "file for a trace that Perfetto shows")
      ->check(arguments::writable_file());
  simulate_app->add_option("--svg", simulated.svg, "file for a drawing of the timeline")
      ->check(arguments::writable_file());

  ProbeArguments probe;
  CLI::App* probe_app = app.add_subcommand("probe", "measures what messages cost here, for --topology");
  probe_app->add_option("--save", probe.save, "file for what was measured")->check(arguments::not_empty());
  probe_app->add_flag("--force", probe.force, "overwrite the file even if something disturbed the measurement");

  CLI::App* settings_command = app.add_subcommand("settings", "variables in force, and what this host offers TCP");
  settings_command->add_flag("--json", given.json, "for programs");
  const auto ending = arguments::parse(app, argc, argv);
  if (ending && (ending->exit_status == 0 || !app.get_subcommands().empty())) return arguments::show(*ending);
  if (app.get_subcommands().empty()) throw no_command;
  if (*list_command) return list();
  if (*print_command) return print(given);
  if (*cost_app || *simulate_app) check_slices(simulated);
  if (*cost_app) return cost_command(simulated);
  if (*simulate_app) return simulate_command(simulated);
  if (*probe_app) return probe_command(probe);
  if (*settings_command) return show_settings(given.json) ? 0 : failed;
  if (*verify_command) return verify(given);
  if (model.topology.empty()) return choose(given);
  if (!model.machine_class.empty()) return write_class_table(model);
  return run_model(given, model, !compare_app->parsed());
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
