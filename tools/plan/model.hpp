// hocket-plan choose --topology and compare: what the model chooses on a described network, and why.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/plan/network.hpp"
#include "src/spi/topology.hpp"
#include "src/spi/types.hpp"

namespace hocket {

struct ModelArguments {
  std::string collective;  // empty: all
  std::string topology;
  Rank ranks = 0, cores = 0;
  Topology hosts;          // in place of the hosts of the description, if several
  bool tcp = false;        // between ranks of one host, too
  std::string bytes_list;  // sizes between commas; empty: all
  std::string save;        // tuning file
  std::string machine_class;
};

// The described network. Throws UsageError.
Network model_network(const ModelArguments& given);

// Both print tables and return the program's exit code. They throw UsageError.
int choose_by_model(const ModelArguments& given);
int compare_command(const ModelArguments& given);
// The table of a machine class; likewise.
int write_class_table(const ModelArguments& given);

}  // namespace hocket
