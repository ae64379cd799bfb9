// Groups of ranks as several commands take them: how many, on which hosts, with how many cores.
#pragma once

#include <cstddef>
#include <string>

#include "src/spi/topology.hpp"
#include "tools/plan/model.hpp"
#include "tools/plan/usage.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace hocket {

inline constexpr Rank print_ranks_max = 4096;
inline constexpr std::size_t largest_bytes = std::size_t{1} << 40;

struct Group {
  std::string hosts;  // "4,4,2": the first four ranks on one host, the next four on another …; empty: all on one
  Rank ranks = 0, cores = 0;
};

// --hosts; and with --ranks and --cores too.
void add_hosts(CLI::App* command, Group& group);
void add_group(CLI::App* command, Group& group);

// The same, and what else commands take that ask the model; then the model's arguments for that group.
void add_model(CLI::App* command, Group& group, ModelArguments& model);
ModelArguments for_group(ModelArguments model, const std::string& collective, Group group);

// Where the ranks are, and sets their number where --hosts alone says it. Throws UsageError.
Topology take_hosts(Group& group);

// "10 ranks on hosts of 4,4,2"
std::string ranks_text(const Group& group);

// From 1 to `most`; throws `wrong` where it is none.
Rank parse_number(const std::string& digits, Rank most, const UsageError& wrong);

}  // namespace hocket
