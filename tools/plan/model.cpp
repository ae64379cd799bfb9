#include "tools/plan/model.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "src/base/environment.hpp"
#include "src/plan/text.hpp"
#include "src/plan/tuner.hpp"
#include "tools/plan/class_model.hpp"
#include "tools/plan/network_file.hpp"
#include "tools/plan/progress.hpp"
#include "tools/plan/usage.hpp"

namespace hocket {
namespace {

std::vector<Collective> collectives_of(const ModelArguments& given) {
  const auto is_modelled = [](Collective collective) { return info_of(collective).direct_paths; };
  if (given.collective.empty()) {
    std::vector<Collective> all;
    std::ranges::copy_if(all_collectives, std::back_inserter(all), is_modelled);
    return all;
  }
  const Collective wanted = collective_of(given.collective);
  if (!is_modelled(wanted)) {
    throw UsageError{fmt::format("{} has one algorithm; there is nothing to choose.", given.collective)};
  }
  return {wanted};
}

std::vector<std::size_t> sizes_of(const ModelArguments& given, Collective collective, Rank ranks) {
  if (given.bytes_list.empty() || info_of(collective).chunks == Chunks::token) return tuning_sizes(collective, ranks);
  std::vector<std::size_t> sizes;
  for (std::size_t begin = 0; begin <= given.bytes_list.size();) {
    const std::size_t end = std::min(given.bytes_list.find(',', begin), given.bytes_list.size());
    const std::string text = given.bytes_list.substr(begin, end - begin);
    const auto bytes = environment::to_bytes({"", text}, 0, std::int64_t{1} << 40);
    if (!bytes || (!sizes.empty() && static_cast<std::size_t>(*bytes) <= sizes.back())) {
      throw UsageError{fmt::format("--bytes: '{}' is not a list of rising sizes, as in 4K,64K,1M.", given.bytes_list)};
    }
    sizes.push_back(static_cast<std::size_t>(*bytes));
    begin = end + 1;
  }
  return sizes;
}

std::vector<Comparison> compare(const Network& network, Collective collective, const std::vector<std::size_t>& sizes,
                                bool leave_out_hopeless) {
  const auto progress = [&](const Algorithm& algorithm, std::size_t bytes) {
    show_progress(fmt::format("{} of {}: {} ...", name_of(collective), text_of_size(bytes), algorithm.name));
  };
  auto made =
      compare_algorithms(network, collective, sizes, {.leave_out_hopeless = leave_out_hopeless, .progress = progress});
  show_progress("");
  if (!made) throw UsageError{made.status().message() + "."};
  return std::move(*made);
}

void print_head(const ModelArguments& given, const Network& network) {
  const Rank cores = network.cores_per_host();
  fmt::print("{} rank{} on {} host{}, {}{}{}: what the model expects, by simulation\n", network.size(),
             network.size() == 1 ? "" : "s", network.hosts(), network.hosts() == 1 ? "" : "s", given.topology,
             cores == 0 ? "" : fmt::format(", {} core{} a host", cores, cores == 1 ? "" : "s"),
             given.tcp ? ", TCP on hosts, too" : "");
}

std::string microseconds_text(double seconds) {
  const double us = seconds * 1e6;
  return fmt::format("{:.{}f}", us, us < 100 ? 2 : us < 10'000 ? 1 : 0);
}

// One line for each range of sizes with the same choice.
void print_ranges(Collective collective, const std::vector<Comparison>& comparisons) {
  for (std::size_t first = 0; first < comparisons.size();) {
    const Algorithm* chosen = comparisons[first].candidates[comparisons[first].chosen].algorithm;
    std::size_t last = first;
    double worst = 1;  // of what the built-in choice takes, compared with this one
    for (std::size_t at = first; at < comparisons.size(); last = at++) {
      const Comparison& one = comparisons[at];
      if (one.candidates[one.chosen].algorithm != chosen) break;
      if (one.built_in < one.candidates.size() && one.candidates[one.chosen].seconds > 0) {
        worst = std::max(worst, one.candidates[one.built_in].seconds / one.candidates[one.chosen].seconds);
      }
    }
    const bool to_the_end = last + 1 == comparisons.size();
    const std::string range = comparisons.size() == 1 ? "all"
                              : to_the_end            ? "above"
                                                      : "up to " + text_of_size(comparisons[last].bytes);
    const std::string times =
        fmt::format("{} to {}", microseconds_text(comparisons[first].candidates[comparisons[first].chosen].seconds),
                    microseconds_text(comparisons[last].candidates[comparisons[last].chosen].seconds));
    fmt::print("{:<15} {:<12} {:<19} {:>22}  {}\n", first == 0 ? name_of(collective) : "", range, chosen->name, times,
               worst > 1.03 ? fmt::format("built-in choice: up to {:.2f} times that", worst) : "as built in");
    first = last + 1;
  }
}

// What runs in place of algorithms where ranks share memory: one line for each range of sizes with the same path.
void print_direct_ranges(const Network& network, Collective collective, const std::vector<Comparison>& comparisons) {
  std::vector<std::pair<std::size_t, DirectExpectation>> all;
  for (const Comparison& one : comparisons) {
    const auto expected = expected_directly(network, collective, one.bytes, false);
    if (expected) all.emplace_back(one.bytes, *expected);
  }
  for (auto first = all.begin(); first != all.end();) {
    const auto next =
        std::find_if(first, all.end(), [&](const auto& one) { return one.second.path != first->second.path; });
    const auto& last = *(next - 1);
    const std::string range = all.size() == 1     ? "all"
                              : next == all.end() ? "above"
                                                  : "up to " + text_of_size(last.first);
    const std::string times =
        fmt::format("{} to {}", microseconds_text(first->second.seconds), microseconds_text(last.second.seconds));
    fmt::print("{:<15} {:<12} {:<19} {:>22}  {}\n", "", range, name_of(first->second.path), times,
               "where memory is shared");
    first = next;
  }
}

// Puts the choices beside the tables that the file has for other groups.
void save(const ModelArguments& given, const Network& network, const Choices& choices) {
  Tuning tuning;
  if (std::filesystem::exists(given.save)) {
    std::ifstream file(given.save);
    std::ostringstream text;
    text << file.rdbuf();  // which keeps exceptions to itself, as for a folder
    auto read = Tuning::parse(text.str(), given.save);
    if (!read) throw UsageError{read.status().message() + "; the file stays as it is."};
    tuning = std::move(*read);
  }
  tuning.set({.first = network.size(), .last = network.size(), .hosts = network.hosts()}, choices);
  if (const Rank streams = network.description().link.streams; streams > 1) tuning.set_tcp_streams(streams);
  std::ofstream file(given.save);
  file << "# Algorithms by collective and bytes of the larger buffer, for HOCKET_TUNING. Written by hocket-plan "
          "choose.\n"
       << tuning.text();
  file.flush();
  if (!file) throw UsageError{fmt::format("'{}' cannot be written.", given.save)};
  fmt::print("Saved. Use it on all ranks: HOCKET_TUNING={}\n", given.save);
}

}  // namespace

Network model_network(const ModelArguments& given) {
  const auto checked = [](Result<Network> made) {
    if (!made) throw UsageError{made.status().message() + "."};
    return std::move(*made);
  };
  Network network = checked(open_network(given.topology, given.ranks, given.cores));
  if (given.hosts.hosts() > 1) {
    NetworkDescription description = network.description();
    if (description.kind != NetworkKind::hosts) {
      throw UsageError{fmt::format("--hosts goes with a network of hosts, but {} is {}.", given.topology,
                                   name_of(description.kind))};
    }
    const auto ranks = given.hosts.ranks_by_host(network.size());
    description.ranks_per_host = static_cast<Rank>(ranks.front().size());
    for (const auto& of_host : ranks) {
      if (of_host.size() == ranks.front().size()) continue;
      if (&of_host == &ranks.back() && of_host.size() < ranks.front().size()) continue;
      throw UsageError{"--hosts: networks have equally many ranks on each host, save for fewer on the last."};
    }
    network = checked(Network::make(description));
  }
  return given.tcp ? checked(over_tcp(network)) : network;
}

int choose_by_model(const ModelArguments& given) {
  const std::vector<Collective> collectives = collectives_of(given);
  if (!given.save.empty() && !given.collective.empty()) {
    throw UsageError{"--save writes a table for all collectives: leave out COLLECTIVE."};
  }
  const Network network = model_network(given);
  print_head(given, network);
  fmt::print("{:<15} {:<12} {:<19} {:>22}\n", "collective", "bytes", "algorithm", "us");
  Choices choices;
  for (const Collective collective : collectives) {
    const auto comparisons = compare(network, collective, sizes_of(given, collective, network.size()), true);
    print_ranges(collective, comparisons);
    print_direct_ranges(network, collective, comparisons);
    add_ranges(comparisons, collective, choices);
  }
  if (!given.save.empty()) save(given, network, choices);
  return 0;
}

int write_class_table(const ModelArguments& given) {
  const MachineClass& machine = *find_machine_class(given.machine_class);
  const auto figures = open_network(given.topology, 2, 0);
  if (!figures) throw UsageError{figures.status().message() + "."};
  const auto text = class_text(machine, figures->description(), [&](const ClassRow& row) {
    show_progress(fmt::format("{}: {} ranks ...", machine.name, row.simulated));
  });
  show_progress("");
  if (!text) throw UsageError{text.status().message() + "."};
  if (given.save.empty()) {
    fmt::print("{}", *text);
    return 0;
  }
  std::ofstream file(given.save);
  file << *text;
  file.flush();
  if (!file) throw UsageError{fmt::format("'{}' cannot be written.", given.save)};
  return 0;
}

int compare_command(const ModelArguments& given) {
  const std::vector<Collective> collectives = collectives_of(given);
  const Network network = model_network(given);
  for (const Collective collective : collectives) (void)sizes_of(given, collective, network.size());  // mistakes first
  print_head(given, network);
  fmt::print("Microseconds. *: the model's choice; b: the built-in choice\n");
  if (expected_directly(network, Collective::barrier, 0, false)) {
    fmt::print("Ranks that share memory take the direct path on the right instead; messages only if they are named.\n");
  }
  for (const Collective collective : collectives) {
    const auto comparisons = compare(network, collective, sizes_of(given, collective, network.size()), false);
    fmt::print("\n{:<15}", name_of(collective));
    for (const Candidate& candidate : comparisons.front().candidates) fmt::print(" {:>20}", candidate.algorithm->name);
    fmt::print("\n");
    for (const Comparison& one : comparisons) {
      fmt::print("{:<15}", text_of_size(one.bytes));
      for (const Candidate& column : comparisons.front().candidates) {
        const auto at = static_cast<std::size_t>(
            std::ranges::find(one.candidates, column.algorithm, &Candidate::algorithm) - one.candidates.begin());
        const std::string marks = fmt::format("{}{}", at == one.chosen ? "*" : "", at == one.built_in ? "b" : "");
        const std::string time = at == one.candidates.size() ? "-" : microseconds_text(one.candidates[at].seconds);
        fmt::print(" {:>20}", fmt::format("{}{}{}", marks, marks.empty() ? "" : " ", time));
      }
      if (const auto direct = expected_directly(network, collective, one.bytes, false)) {
        fmt::print("   {}: {}", name_of(direct->path), microseconds_text(direct->seconds));
      }
      fmt::print("\n");
    }
  }
  return 0;
}

}  // namespace hocket
