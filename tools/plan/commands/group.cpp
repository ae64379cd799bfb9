#include "tools/plan/commands/group.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "src/plan/network.hpp"

namespace hocket {

void add_hosts(CLI::App* command, Group& group) {
  command->add_option("--hosts", group.hosts, "ranks of each host, as in 4,4,2 (all on one)");
}

void add_group(CLI::App* command, Group& group) {
  command->add_option("--ranks", group.ranks, "number of ranks")->check(CLI::Range(1, group_ranks_max));
  add_hosts(command, group);
  command->add_option("--cores", group.cores, "cores per host (default: one per rank, or as the network file says)")
      ->check(CLI::Range(1, group_ranks_max));
}

void add_model(CLI::App* command, Group& group, ModelArguments& model) {
  add_group(command, group);
  command->add_flag("--tcp", model.tcp, "ranks of one host exchange over TCP, too (HOCKET_TRANSPORT=tcp)");
}

ModelArguments for_group(ModelArguments model, const std::string& collective, Group group) {
  if (!group.hosts.empty()) model.hosts = take_hosts(group);
  model.collective = collective;
  model.ranks = group.ranks;
  model.cores = group.cores;
  return model;
}

Rank parse_number(const std::string& digits, Rank most, const UsageError& wrong) {
  if (digits.empty() || digits.size() > 4 || digits.find_first_not_of("0123456789") != std::string::npos) throw wrong;
  const Rank value = std::stoi(digits);
  if (value < 1 || value > most) throw wrong;
  return value;
}

Topology take_hosts(Group& group) {
  if (group.hosts.empty()) {
    if (group.ranks == 0) throw UsageError{"--ranks is required, unless --hosts is given. See hocket-plan --help."};
    return {};
  }
  const UsageError wrong{fmt::format("--hosts: '{}' is not a list of numbers of ranks, at most {} in all, as in 4,4,2.",
                                     group.hosts, print_ranks_max)};
  std::vector<std::uint32_t> host_by_rank;
  std::uint32_t host = 0;
  for (std::size_t begin = 0; begin <= group.hosts.size(); ++host) {
    const std::size_t end = std::min(group.hosts.find(',', begin), group.hosts.size());
    const Rank ranks = parse_number(group.hosts.substr(begin, end - begin), print_ranks_max, wrong);
    host_by_rank.insert(host_by_rank.end(), static_cast<std::size_t>(ranks), host);
    if (host_by_rank.size() > static_cast<std::size_t>(print_ranks_max)) throw wrong;
    begin = end + 1;
  }
  const auto ranks = static_cast<Rank>(host_by_rank.size());
  if (group.ranks != 0 && group.ranks != ranks) {
    throw UsageError{fmt::format("--hosts {} are {} ranks, but --ranks says {}.", group.hosts, ranks, group.ranks)};
  }
  group.ranks = ranks;
  return Topology(host_by_rank);
}

std::string ranks_text(const Group& group) {
  return fmt::format("{} rank{}{}", group.ranks, group.ranks == 1 ? "" : "s",
                     group.hosts.empty() ? "" : fmt::format(" on hosts of {}", group.hosts));
}

}  // namespace hocket
