// What the model says of machine classes, and that the tables in the tree are what it says.
#include "tools/plan/class_model.hpp"

#include <gtest/gtest.h>

#include <string>

#include "src/plan/class_tables.hpp"
#include "tools/plan/network_file.hpp"

namespace hocket {
namespace {

NetworkDescription figures_of(const MachineClass& machine) {
  const auto network = open_network(HOCKET_SOURCE_FOLDER "/src/plan/tables/model/" + class_figures(machine), 2, 0);
  EXPECT_TRUE(network.ok()) << network.status().message();
  return network.ok() ? network->description() : NetworkDescription();
}

const ClassTable* model_table(const MachineClass& machine) {
  for (const ClassTable& table : tables_of(machine)) {
    if (table.name.starts_with("model/")) return &table;
  }
  return nullptr;
}

std::string text_of(const TableHead& head, const Choices& choices) {
  Tuning tables;
  tables.set(head, choices);
  return tables.text();
}

// The smallest groups of each class, and some of one; tools/model-tables writes all.
TEST(ClassModel, IsWhatTheTablesInTheTreeSay) {
  std::size_t rows = 0;
  for (const MachineClass& machine : machine_classes()) {
    const ClassTable* table = model_table(machine);
    if (table == nullptr) continue;
    const std::string text = table->tables.text();
    for (const ClassRow& row : class_rows(machine)) {
      if (row.simulated > (machine.name == "several-hosts-10g" ? 8 : 4)) continue;
      const auto choices = class_choices(machine, figures_of(machine), row.simulated);
      ASSERT_TRUE(choices.ok()) << choices.status().message();
      TableHead head = row.head;
      EXPECT_NE(text.find(text_of(head, choices->usual)), std::string::npos)
          << machine.name << ": the model says\n"
          << text_of(head, choices->usual) << "run tools/model-tables";
      head.kind = CallKind::in_rank_order;
      EXPECT_NE(text.find(text_of(head, choices->in_rank_order)), std::string::npos)
          << machine.name << ": the model says\n"
          << text_of(head, choices->in_rank_order) << "run tools/model-tables";
      ++rows;
    }
  }
  EXPECT_GT(rows, 25U);
}

TEST(ClassModel, IsOfNetworksThatAreInTheClass) {
  for (const MachineClass& machine : machine_classes()) {
    for (const ClassRow& row : class_rows(machine)) {
      const auto network = class_network(machine, figures_of(machine), row.simulated);
      ASSERT_TRUE(network.ok()) << network.status().message();
      EXPECT_EQ(network->machine().name, machine.name) << row.simulated << " ranks";
      EXPECT_TRUE(row.head.holds(row.simulated, network->hosts(), CallKind::usual)) << row.head.text();
    }
  }
}

// No number of ranks that the class can have is left out.
TEST(ClassModel, HasARowForAllNumbersOfRanks) {
  for (const MachineClass& machine : machine_classes()) {
    const auto rows = class_rows(machine);
    for (Rank ranks = rows.front().head.first; ranks <= 1024; ++ranks) {
      EXPECT_TRUE(
          std::ranges::any_of(rows, [&](const ClassRow& row) { return row.head.holds(ranks, 1, CallKind::usual); }))
          << machine.name << " on " << ranks << " ranks";
    }
  }
}

}  // namespace
}  // namespace hocket
