// What the model says of a machine class: the tables in src/plan/tables/model.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "src/plan/machine_class.hpp"
#include "src/plan/network.hpp"
#include "src/plan/tuning.hpp"

namespace hocket {

// One row of such tables: the numbers of ranks that it is for, and the one that is simulated for all of them.
struct ClassRow {
  TableHead head;
  Rank simulated = 2;
};
// Of the numbers of ranks that the class can have.
std::vector<ClassRow> class_rows(const MachineClass& machine);

// The network that `ranks` of the class are on, with the costs of `figures`.
Result<Network> class_network(const MachineClass& machine, const NetworkDescription& figures, Rank ranks);

// What the model chooses for one row: for usual calls, and for calls in rank order. Fails as simulations do.
struct ClassChoices {
  Choices usual, in_rank_order;
};
Result<ClassChoices> class_choices(const MachineClass& machine, const NetworkDescription& figures, Rank ranks);

// The file that describes the network of the class, beside its table: "10g.json".
std::string class_figures(const MachineClass& machine);

// All rows as text, which begins with how it was made. Calls `progress` before each row.
Result<std::string> class_text(const MachineClass& machine, const NetworkDescription& figures,
                               const std::function<void(const ClassRow&)>& progress = {});

}  // namespace hocket
