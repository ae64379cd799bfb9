#include "tools/plan/probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "src/base/environment.hpp"
#include "src/base/hash.hpp"
#include "src/base/host_identity.hpp"
#include "tools/arguments.hpp"
#include "tools/launch.hpp"
#include "tools/plan/network_file.hpp"
#include "tools/plan/probe_measure.hpp"
#include "tools/plan/usage.hpp"

namespace hocket {
namespace {

constexpr int failed = 1;
constexpr double spread_max = 0.25;  // as far as the model may be from what is measured

// Another host's TCP or the loopback interface's.
std::string_view tcp_name(const ProbeFigures& figures) {
  return figures.between_hosts ? "TCP between hosts" : "TCP on this host";
}

void print_links(const ProbeFigures& figures) {
  const LinkFigures none;
  const LinkFigures& tcp = figures.tcp;
  const LinkFigures& shm = figures.shm ? *figures.shm : none;
  const auto line = [&](std::string_view name, const Figure& first, const Figure& second, double unit) {
    const auto text = [unit](const Figure& figure) {
      if (figure.value == 0) return fmt::format("{:>12} {:>8}", "-", "");
      return fmt::format("{:>12.3f} {:>6.0f} %", figure.value * unit, figure.spread * 100);
    };
    fmt::print("{:<42} {} {}\n", name, text(first), text(second));
  };
  fmt::print("{:<42} {:>12} {:>8} {:>12} {:>8}\n", "", tcp_name(figures), "spread", "shared mem.", "spread");
  line("a message of 8 bytes, one way, us", tcp.ping_pong, shm.ping_pong, 1e6);
  line("  both ranks on one core, us", tcp.one_core, shm.one_core, 1e6);
  line("  its sender's processor, us", tcp.send, shm.send, 1e6);
  line("  its receiver's processor, us", tcp.receive, shm.receive, 1e6);
  line("a byte of 64 KiB, sender, ns", tcp.send_per_byte, shm.send_per_byte, 1e9);
  line("  receiver, ns", tcp.receive_per_byte, shm.receive_per_byte, 1e9);
  line("a byte each way, both ranks at once, ns", tcp.exchange_per_byte, shm.exchange_per_byte, 1e9);
  line("a byte of a copy, both at once, ns", figures.copy_per_byte, {}, 1e9);
  line("a byte of a sum of float32, ns", figures.reduce_per_byte, {}, 1e9);
  if (!figures.direct) return;
  for (const auto& [name, figure] : named(*figures.direct)) line(fmt::format("{}, us", name), {}, figure, 1e6);
}

void print_streams(const ProbeFigures& figures) {
  if (figures.streams.empty()) return;
  for (const StreamsFigure& figure : figures.streams) {
    const Figure& byte = figure.exchange_per_byte;
    fmt::print("{:<42} {:>12.3f} {:>6.0f} %\n",
               fmt::format("a byte each way over {} connection{}, ns", figure.streams, figure.streams == 1 ? "" : "s"),
               byte.value * 1e9, byte.spread * 100);
  }
  const int best = worthwhile(figures.streams).streams;
  fmt::print("{}\n", best == 1
                         ? "One connection fills the link."
                         : fmt::format("{} connections are faster: set HOCKET_TCP_STREAMS={}, or use the table of "
                                       "hocket-plan choose.",
                                       best, best));
}

void print_costs(const NetworkDescription& network) {
  fmt::print("\nFor the model: {:>10} {:>8} {:>8} {:>8} {:>14} {:>14}\n", "latency us", "send us", "recv us", "wake us",
             "send ns/byte", "recv ns/byte");
  const auto line = [](std::string_view name, const LinkCost& cost) {
    fmt::print("  {:<12} {:>10.3f} {:>8.3f} {:>8.3f} {:>8.3f} {:>14.4f} {:>14.4f}\n", name, cost.latency * 1e6,
               cost.send * 1e6, cost.receive * 1e6, cost.wake * 1e6, cost.send_per_byte * 1e9,
               cost.receive_per_byte * 1e9);
  };
  line("link", network.link);
  line("local", network.local);
  if (!network.direct) return;
  const DirectCost& direct = *network.direct;
  fmt::print(
      "  without messages, us: call {:.3f}, line {:.3f}, flag {:.3f}, wake {:.3f}, read {:.3f}; ns/byte: copy "
      "{:.4f}, sum {:.4f}, beyond {:.0f} KiB copy {:.4f}, sum {:.4f}, read {}\n",
      direct.call * 1e6, direct.line * 1e6, direct.flag * 1e6, direct.wake * 1e6, direct.read * 1e6,
      direct.copy_per_byte * 1e9, direct.reduce_per_byte * 1e9, direct.cache_bytes / 1024,
      direct.far_copy_per_byte * 1e9, direct.far_reduce_per_byte * 1e9,
      direct.reads_plain_memory ? fmt::format("{:.4f}", direct.read_per_byte * 1e9) : "not possible");
}

std::vector<std::string> notes_on(const ProbeFigures& figures, const std::vector<std::string>& unsteady) {
  std::vector<std::string> notes{fmt::format("hocket-plan probe: link is {}, local is {}", tcp_name(figures),
                                             figures.shm ? "shared memory" : tcp_name(figures))};
  for (const std::string& what : unsteady) notes.push_back("unsteady: " + what);
  return notes;
}

// The exit code. A good table is worth more than a new one.
int probe_save(const ProbeArguments& given, const ProbeFigures& figures, const std::vector<std::string>& unsteady) {
  if (!unsteady.empty() && !given.force && std::filesystem::exists(given.save)) {
    fmt::print("{} stays as it is. Measure again when the machine is quiet, or overwrite it with --force.\n",
               given.save);
    return failed;
  }
  std::ofstream file(given.save);
  file << write_network(description_of(figures), figures.hosts, notes_on(figures, unsteady));
  file.flush();
  if (!file) {
    fmt::print(stderr, "hocket-plan: '{}' cannot be written.\n", given.save);
    return failed;
  }
  fmt::print("Saved. Use it as in: hocket-plan choose --ranks 4 --topology {}\n", given.save);
  return 0;
}

int run_rank(const ProbeArguments& given) {
  const auto result = measure_here();
  if (!result) {
    fmt::print(stderr, "hocket-plan: {}\n", result.status().message());
    return failed;
  }
  const std::optional<ProbeFigures>& measured = *result;
  if (!measured) return 0;
  fmt::print("{} core{}; measured in {:.0f} ms for each way. Spread: the middle half of the samples.\n\n",
             measured->cores, measured->cores == 1 ? "" : "s", measured->seconds * 1e3);
  print_links(*measured);
  print_streams(*measured);
  print_costs(description_of(*measured));
  const std::vector<std::string> unsteady = disturbed(*measured);
  for (const std::string& what : unsteady) fmt::print("\nDISTURBED: {}", what);
  if (!unsteady.empty()) fmt::print("\nSomething else was at work here, so these figures are uncertain.\n");
  return given.save.empty() ? 0 : probe_save(given, *measured, unsteady);
}

// Scaled so that both together take what a byte each way takes when both ranks are at it.
void share_out(double whole, double& first, double& second) {
  const double sum = first + second;
  first = sum > 0 ? whole * first / sum : whole / 2;
  second = whole - first;
}

}  // namespace

std::uint64_t number_of_host() {
  return hash_of(HostIdentity::own().name());
}

Figure figure_of(std::vector<double> samples) {
  std::ranges::sort(samples);
  const auto at = [&](std::size_t quarter) { return samples[(samples.size() - 1) * quarter / 4]; };
  const double median = at(2);
  return {.value = median, .spread = median > 0 ? (at(3) - at(1)) / median : 0};
}

LinkCost link_cost_of(const LinkFigures& figures) {
  LinkCost cost{.send = figures.send.value, .receive = figures.receive.value};
  const double work = cost.send + cost.receive;
  if (work > figures.ping_pong.value) share_out(figures.ping_pong.value, cost.send, cost.receive);
  cost.latency = std::max(figures.ping_pong.value - work, 0.0);
  cost.wake = std::max(figures.one_core.value - cost.send - cost.receive, 0.0);
  cost.send_per_byte = figures.send_per_byte.value;
  cost.receive_per_byte = figures.receive_per_byte.value;
  share_out(figures.exchange_per_byte.value, cost.send_per_byte, cost.receive_per_byte);
  return cost;
}

const StreamsFigure& worthwhile(std::span<const StreamsFigure> figures) {
  constexpr double a_tenth = 1.1;
  const auto seconds = [](const StreamsFigure& figure) { return figure.exchange_per_byte.value; };
  const double least = seconds(*std::ranges::min_element(figures, {}, seconds));
  return *std::ranges::find_if(figures, [&](const auto& figure) { return seconds(figure) <= least * a_tenth; });
}

std::vector<std::string> disturbed(const ProbeFigures& figures) {
  std::vector<std::string> found;
  const auto look_at = [&](std::string_view what, const Figure& figure) {
    if (figure.spread <= spread_max) return;
    found.push_back(fmt::format("{} varied by {:.0f} % around {:.3g} s", what, figure.spread * 100, figure.value));
  };
  const auto look_at_links = [&](std::string_view name, const LinkFigures& links) {
    look_at(fmt::format("{}, a message", name), links.ping_pong);
    look_at(fmt::format("{}, a message on one core", name), links.one_core);
    look_at(fmt::format("{}, a byte", name), links.exchange_per_byte);
  };
  look_at_links(tcp_name(figures), figures.tcp);
  if (figures.shm) look_at_links("shared memory", *figures.shm);
  look_at("a byte of a sum", figures.reduce_per_byte);
  if (!figures.direct) return found;
  look_at("without messages, a small allreduce", figures.direct->small);
  look_at("without messages, an allgather", figures.direct->gather);
  look_at("without messages, a long allreduce", figures.direct->far_reduce);
  return found;
}

NetworkDescription description_of(const ProbeFigures& figures) {
  NetworkDescription made{.kind = NetworkKind::hosts, .cores_per_host = figures.cores};
  LinkFigures tcp = figures.tcp;
  Rank streams = 1;
  if (!figures.streams.empty()) {
    const StreamsFigure& best = worthwhile(figures.streams);
    streams = best.streams;
    tcp.exchange_per_byte = best.exchange_per_byte;
  }
  made.link = link_cost_of(tcp);
  made.link.streams = streams;
  made.local = figures.shm ? link_cost_of(*figures.shm) : made.link;
  made.copy_per_byte = figures.copy_per_byte.value;
  made.reduce_per_byte = figures.reduce_per_byte.value;
  if (figures.direct) made.direct = direct_cost_of(*figures.direct);
  return made;
}

int probe_command(const ProbeArguments& given) {
  const auto rank = environment::in_force("HOCKET_RANK");
  const bool writes = !given.save.empty() && (!rank || rank->value == "0");
  if (writes && !arguments::can_be_written(given.save)) {
    throw UsageError{fmt::format("--save: '{}' cannot be written.", given.save)};
  }
  if (environment::in_force("HOCKET_WORLD_SIZE")) return run_rank(given);
  launch::Options launch;
  launch.caller = "hocket-plan";
  launch.ranks = 2;
  launch.output = launch::Output::progress;
  launch.command = {std::filesystem::read_symlink("/proc/self/exe"), "probe"};
  if (!given.save.empty()) launch.command.insert(launch.command.end(), {"--save", given.save});
  if (given.force) launch.command.emplace_back("--force");
  return launch::run(launch);
}

}  // namespace hocket
