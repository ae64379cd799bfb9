// hocket-plan cost and simulate: what algorithms take on described networks.
#pragma once

#include <cstddef>
#include <string>

#include "src/plan/slicing.hpp"
#include "src/spi/types.hpp"

namespace hocket {

struct SimulateArguments {
  std::string collective, algorithm, topology = "flat", trace, svg;
  Rank ranks = 0, cores = 0, root = 0;
  std::size_t bytes = std::size_t{1} << 20, slice_bytes = call_slice_bytes;
  std::size_t calls = 1;  // in a row
  bool in_place = false;
  bool direct = false, registered = false;  // simulate: the direct path alone, of registered buffers
};

// Both print tables and return the program's exit code. They throw UsageError.
int cost_command(const SimulateArguments& given);
int simulate_command(const SimulateArguments& given);

}  // namespace hocket
