#include "tools/plan/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <optional>
#include <vector>

#include "src/plan/cost.hpp"
#include "src/plan/direct/simulate.hpp"
#include "src/plan/simulate.hpp"
#include "src/plan/text.hpp"
#include "tools/plan/network_file.hpp"
#include "tools/plan/timeline.hpp"
#include "tools/plan/usage.hpp"

namespace hocket {
namespace {

constexpr std::size_t element_bytes = 4;
constexpr std::size_t critical_steps_shown = 24;

Network network_of(const SimulateArguments& given) {
  Result<Network> made = open_network(given.topology, given.ranks, given.cores);
  if (!made) throw UsageError{made.status().message() + "."};
  return *made;
}

// The algorithms to look at: the named one, or all.
std::vector<const Algorithm*> algorithms_of(const SimulateArguments& given) {
  const Collective collective = collective_of(given.collective);
  if (info_of(collective).is_message()) {
    throw UsageError{fmt::format("{} is between two ranks; simulate and cost take collectives.", given.collective)};
  }
  if (!given.algorithm.empty()) {
    const Algorithm& named = algorithm_of(collective, given.algorithm);
    if (named.encoded) throw UsageError{fmt::format("--algorithm: {} has no exact form.", named.name)};
    return {&named};
  }
  std::vector<const Algorithm*> found;
  for (const Algorithm& algorithm : catalog()) {
    if (algorithm.collective == collective && !algorithm.encoded) found.push_back(&algorithm);
  }
  return found;
}

// As the C API has it.
std::size_t count_of(const SimulateArguments& given, Collective collective, Rank ranks) {
  const std::size_t elements = given.bytes / element_bytes;
  return info_of(collective).is_vector() ? elements : elements / static_cast<std::size_t>(ranks);
}

SimulatedCall call_of(const SimulateArguments& given, const Algorithm& algorithm, Rank ranks) {
  return {.algorithm = &algorithm,
          .root = given.root,
          .count = count_of(given, algorithm.collective, ranks),
          .element_bytes = element_bytes,
          .slice_bytes = given.slice_bytes,
          .placement = given.in_place ? Placement::in_place : Placement::out_of_place,
          .calls = given.calls,
          .record = !given.trace.empty() || !given.svg.empty()};
}

void print_network(const SimulateArguments& given, const Network& network) {
  fmt::print("{} of {} bytes on {} ranks, {} ({}{})\n", given.collective, given.bytes, network.size(), given.topology,
             name_of(network.description().kind),
             network.cores_per_host() == 0 ? "" : fmt::format(", {} cores a host", network.cores_per_host()));
}

void print_shares(const Simulation& run) {
  const auto line = [&](std::string_view name, Picoseconds time) {
    const double part = run.time == 0 ? 0 : 100.0 * static_cast<double>(time) / static_cast<double>(run.time);
    fmt::print("    {:<28} {:>14.3f} us {:>6.1f} %\n", name, microseconds(time), part);
  };
  line("latency", run.critical_path.latency);
  line("wire", run.critical_path.wire);
  line("waiting for a busy link", run.critical_path.link_wait);
  line("processor", run.critical_path.processor);
  line("waiting for a processor", run.critical_path.processor_wait);
}

void print_critical_path(const Simulation& run) {
  fmt::print("  critical path, {} parts{}:\n", run.critical.size(),
             run.every == 1 ? "" : fmt::format(", one of {} kept", run.every));
  for (std::size_t i = 0; i < run.critical.size(); ++i) {
    if (run.critical.size() > critical_steps_shown && i == critical_steps_shown / 2) {
      const std::size_t left_out = run.critical.size() - critical_steps_shown;
      fmt::print("    ... {} more\n", left_out);
      i += left_out;
    }
    const Activity part = run.activity(run.critical[i]);
    fmt::print("    {:>12.3f} to {:>12.3f} us  {}\n", microseconds(part.begin), microseconds(part.end),
               name_of_activity(part));
  }
}

// What drawings leave out.
void print_selection(const Simulation& run) {
  const DrawnPart selection = select(run);
  if (run.ranks > timeline_ranks_max) {
    fmt::print("  drawn: {} of {} ranks, of those that the critical path visits\n", selection.ranks.size(), run.ranks);
  }
  if (selection.whole) return;
  fmt::print("  drawn: of these ranks only the critical path{}\n",
             selection.every == 1 ? "" : fmt::format(", one of {} parts", selection.every));
}

DirectCall direct_call_of(const SimulateArguments& given, const Network& network, bool registered) {
  const Collective collective = collective_of(given.collective);
  return {.collective = collective,
          .ranks = network.size(),
          .count = count_of(given, collective, network.size()),
          .element_bytes = element_bytes,
          .in_place = given.in_place,
          .registered = registered,
          .root = info_of(collective).takes_root() ? given.root : 0};
}

// What runs over shared memory instead of all these, with plain memory and with registered memory.
void print_direct(const SimulateArguments& given, const Network& network) {
  std::optional<DirectPath> plain;
  for (const bool registered : {false, true}) {
    const DirectCall call = direct_call_of(given, network, registered);
    const auto expected = expect_direct(network, call);
    if (!expected || (registered && expected->path == plain)) continue;
    if (!registered) plain = expected->path;
    const DirectWork &root = expected->terms.root, &other = expected->terms.other;
    const Simulation run = simulate_direct(network, {.call = call, .path = expected->path});
    fmt::print("{:<19} {:>8.0f} {:>14.0f} {:>14.0f} {:>14.3f} {:>14.3f} {:>14.3f}{}\n", name_of(expected->path),
               expected->terms.flags, std::max(root.copied + root.read, other.copied + other.read),
               std::max(root.combined, other.combined), expected->seconds * 1e6, microseconds(run.time),
               expected->processors * 1e6, registered ? "  registered buffers" : "");
  }
  if (plain) {
    fmt::print("Ranks that share memory run {}; schedules run if they are named (HOCKET_ALGORITHM), or over TCP.\n",
               name_of(*plain));
  }
}

void write_file(const std::string& path, const std::function<void(std::ostream&)>& write) {
  std::ofstream file(path);
  write(file);
  file.flush();
  if (!file) throw UsageError{fmt::format("'{}' cannot be written.", path)};
}

// One run: what it took and why, and its drawings.
void report(const SimulateArguments& given, const Network& network, std::string_view name, const Simulation& run,
            std::chrono::duration<double> took) {
  const bool draws = !given.trace.empty() || !given.svg.empty();
  const std::string each = given.calls == 1 ? ""
                                            : fmt::format(", {} calls in a row, {:.3f} us each", given.calls,
                                                          microseconds(run.time) / static_cast<double>(given.calls));
  fmt::print("{}: {:.3f} us{}\n", name, microseconds(run.time), each);
  fmt::print("  {} steps, {} messages ({} of the busiest rank), {} bytes sent ({} by the busiest rank)\n", run.steps,
             run.messages, run.messages_max, run.bytes, run.bytes_max);
  if (run.last_rank != no_rank) {
    fmt::print("  the end waited for rank {}, step {}; on the way there:\n", run.last_rank, run.last_step);
  }
  print_shares(run);
  fmt::print("  no less than {:.3f} us, the work of the busiest host's processors\n",
             microseconds(run.processor_bound));
  if (draws) print_critical_path(run);
  fmt::print("  simulated in {:.2f} s{}\n", took.count(),
             run.period < run.ranks ? fmt::format(", {} of {} ranks, which stand for all", run.period, run.ranks) : "");
  if (draws) print_selection(run);
  if (!given.trace.empty()) write_file(given.trace, [&](std::ostream& out) { write_trace(network, run, out); });
  const std::string title =
      fmt::format("{} {} of {} bytes on {} ranks", name, given.collective, given.bytes, network.size());
  if (!given.svg.empty()) write_file(given.svg, [&](std::ostream& out) { write_svg(title, run, out); });
}

// With plain memory, and with registered memory where that takes another path. Returns how many.
std::size_t simulate_direct_paths(const SimulateArguments& given, const Network& network) {
  std::optional<DirectPath> plain;
  std::size_t simulated = 0;
  for (const bool registered : {false, true}) {
    if (given.direct && registered != given.registered) continue;
    const DirectCall call = direct_call_of(given, network, registered);
    const auto expected = expect_direct(network, call);
    if (!expected || (registered && expected->path == plain)) continue;
    if (!registered) plain = expected->path;
    const auto began = std::chrono::steady_clock::now();
    const Simulation run = simulate_direct(network, {.call = call,
                                                     .path = expected->path,
                                                     .calls = given.calls,
                                                     .record = !given.trace.empty() || !given.svg.empty()});
    report(given, network, fmt::format("{}{}", name_of(expected->path), registered ? ", registered buffers" : ""), run,
           std::chrono::steady_clock::now() - began);
    ++simulated;
  }
  if (given.direct && simulated == 0) {
    throw UsageError{
        "--direct: no direct path runs here: these are for two and more ranks on one host whose memory they "
        "share (a topology of hosts with `direct`), and for collectives that have one."};
  }
  return simulated;
}

}  // namespace

int simulate_command(const SimulateArguments& given) {
  std::vector<const Algorithm*> algorithms = algorithms_of(given);
  const Network network = network_of(given);
  check_rank("--root", given.root, network.size());
  const bool draws = !given.trace.empty() || !given.svg.empty();
  if (given.direct) algorithms.clear();
  if (draws && algorithms.size() > 1) {
    throw UsageError{"--trace and --svg draw one run: name its --algorithm, or give --direct."};
  }
  print_network(given, network);
  std::size_t simulated = given.algorithm.empty() ? simulate_direct_paths(given, network) : 0;
  for (const Algorithm* algorithm : algorithms) {
    const auto began = std::chrono::steady_clock::now();
    const Result<Simulation> run = simulate(network, call_of(given, *algorithm, network.size()));
    if (!run) {
      if (algorithms.size() == 1) throw UsageError{run.status().message() + "."};
      fmt::print("{}: {}\n", algorithm->name, run.status().message());
      continue;
    }
    ++simulated;
    report(given, network, algorithm->name, *run, std::chrono::steady_clock::now() - began);
  }
  if (simulated == 0) throw UsageError{"None of the algorithms can be simulated on this network."};
  return 0;
}

int cost_command(const SimulateArguments& given) {
  const std::vector<const Algorithm*> algorithms = algorithms_of(given);
  const Network network = network_of(given);
  check_rank("--root", given.root, network.size());
  const NetworkDescription& costs = network.description();
  const bool flat = costs.kind == NetworkKind::flat && costs.slow.empty();
  print_network(given, network);
  fmt::print("{:<19} {:>8} {:>14} {:>14} {:>14} {:>14} {:>14}\n", "algorithm", "rounds", "bytes", "reduced",
             "formula us", "simulated us", "processors us");
  for (const Algorithm* algorithm : algorithms) {
    std::string formula = fmt::format("{:>8} {:>14} {:>14} {:>14}", "-", "-", "-", "-");
    const auto terms = cost_terms(*algorithm, network.size(), static_cast<double>(given.bytes));
    if (flat && terms) {
      formula = fmt::format("{:>8.0f} {:>14.0f} {:>14.0f} {:>14.3f}", terms->rounds, terms->bytes, terms->reduced_bytes,
                            cost_seconds(*terms, costs.link, costs.reduce_per_byte) * 1e6);
    }
    const Result<Simulation> run = simulate(network, call_of(given, *algorithm, network.size()));
    if (!run && algorithms.size() == 1) throw UsageError{run.status().message() + "."};
    fmt::print("{:<19} {} {}\n", algorithm->name, formula,
               run ? fmt::format("{:>14.3f} {:>14.3f}", microseconds(run->time), microseconds(run->processor_bound))
                   : run.status().message());
  }
  print_direct(given, network);
  fmt::print("Formulas are for flat networks and one slice; processors: no schedule with this work ends sooner.\n");
  return 0;
}

}  // namespace hocket
