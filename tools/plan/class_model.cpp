#include "tools/plan/class_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "src/plan/tuner.hpp"
#include "tools/plan/network_file.hpp"

namespace hocket {
namespace {

constexpr Rank any_rank = INT32_MAX;
// Rounds and blocks change most where there are few ranks. Powers of two have algorithms of their own.
constexpr ClassRow rows[] = {{{.first = 2, .last = 2}, 2},
                             {{.first = 3, .last = 3}, 3},
                             {{.first = 4, .last = 4}, 4},
                             {{.first = 5, .last = 7}, 6},
                             {{.first = 8, .last = 8}, 8},
                             {{.first = 9, .last = 15}, 12},
                             {{.first = 16, .last = 16}, 16},
                             {{.first = 17, .last = 31}, 24},
                             {{.first = 32, .last = 32}, 32},
                             {{.first = 33, .last = any_rank}, 48},
                             {{.first = 33, .last = any_rank, .powers_of_two = true}, 64}};
constexpr Rank ranks_of_shared_host = 4;
constexpr Rank all_to_all_ranks_max = 16;  // rows beyond hold for any number of ranks

// How many cores a class of crowded hosts stands for.
Rank typical_cores(const MachineClass& machine) {
  return machine.cores_max == 0 ? 0 : machine.cores_max <= 2 ? 2 : machine.cores_max <= 7 ? 4 : 16;
}

// The fewest ranks that can be in the class.
Rank fewest_ranks(const MachineClass& machine) {
  if (machine.sharing == HostSharing::shared_hosts) return 3;
  return machine.cores_max == 0 ? 2 : machine.cores_max <= 2 ? 2 : machine.cores_max <= 7 ? 4 : 9;
}

// Whether there is anything to choose. There is not for messages, nor for a collective that is new.
bool has_choice(Collective collective) {
  const auto is_for = [&](const Algorithm& algorithm) { return algorithm.collective == collective; };
  return std::ranges::count_if(catalog(), is_for) > 1;
}

}  // namespace

std::vector<ClassRow> class_rows(const MachineClass& machine) {
  std::vector<ClassRow> made;
  const Rank fewest = fewest_ranks(machine);
  for (ClassRow row : rows) {
    if (row.head.last < fewest) continue;
    row.head.first = std::max(row.head.first, fewest);
    made.push_back(row);
  }
  return made;
}

std::string class_figures(const MachineClass& machine) {
  return machine.speed == NetworkSpeed::unknown ? "loopback.json" : fmt::format("{}.json", name_of(machine.speed));
}

Result<Network> class_network(const MachineClass& machine, const NetworkDescription& figures, Rank ranks) {
  NetworkDescription description = figures;
  description.kind = NetworkKind::hosts;
  description.ranks = ranks;
  description.direct = std::nullopt;
  description.cores_per_host = 0;
  switch (machine.sharing) {
    case HostSharing::one_host:
      description.ranks_per_host = ranks;
      description.cores_per_host = machine.cores_max == 0 ? 0 : std::min(typical_cores(machine), ranks - 1);
      break;
    case HostSharing::several_hosts: description.ranks_per_host = 1; break;
    case HostSharing::shared_hosts: description.ranks_per_host = std::min(ranks_of_shared_host, (ranks + 1) / 2); break;
  }
  auto made = Network::make(description);
  // On one host, schedules run where ranks share no memory.
  return made.ok() && machine.sharing == HostSharing::one_host ? over_tcp(*made) : std::move(made);
}

Result<ClassChoices> class_choices(const MachineClass& machine, const NetworkDescription& figures, Rank ranks) {
  const auto network = class_network(machine, figures, ranks);
  if (!network.ok()) return network.status();
  ClassChoices made;
  for (const bool in_rank_order : {false, true}) {
    for (const Collective collective : all_collectives) {
      if (!has_choice(collective) || (in_rank_order && !info_of(collective).reduces())) continue;
      const auto compared = compare_algorithms(*network, collective, tuning_sizes(collective, ranks),
                                               {.leave_out_hopeless = true,
                                                .in_rank_order = in_rank_order,
                                                .leave_out_all_to_all = ranks > all_to_all_ranks_max,
                                                .keeps_built_in = false});
      if (!compared.ok()) return compared.status();
      add_ranges(*compared, collective, in_rank_order ? made.in_rank_order : made.usual);
    }
  }
  return made;
}

Result<std::string> class_text(const MachineClass& machine, const NetworkDescription& figures,
                               const std::function<void(const ClassRow&)>& progress) {
  Tuning tables;
  for (const ClassRow& row : class_rows(machine)) {
    if (progress) progress(row);
    auto choices = class_choices(machine, figures, row.simulated);
    if (!choices.ok()) return choices.status();
    TableHead head = row.head;
    tables.set(head, std::move(choices->usual));
    head.kind = CallKind::in_rank_order;
    tables.set(head, std::move(choices->in_rank_order));
  }
  return fmt::format("# What the model says of {}, never measured. Written by tools/model-tables from {}.\n{}",
                     machine.name, class_figures(machine), tables.text());
}

}  // namespace hocket
