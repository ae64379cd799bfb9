// What collectives mean, for the verifier: what each rank has at the start and must have at the end.
#pragma once

#include <cstdint>
#include <optional>

#include "src/spi/schedule.hpp"
#include "src/spi/status.hpp"

namespace hocket {

// What an output chunk must hold: chunk `chunk` of the input of `rank`, or the sum over the ranks 0 … last where that
// is no_rank.
struct Wanted {
  Rank rank = no_rank;
  std::uint32_t chunk = 0;
  Rank last = no_rank;
};

// Whether this rank's input has the chunk.
bool has_input(const Shape& shape, std::uint32_t chunk);
// Nothing where this rank's output has no such chunk.
std::optional<Wanted> wanted_output(const Shape& shape, std::uint32_t chunk);

// Whether every step is possible at all: ranges inside the spaces that this rank has, operands of one chunk, reductions
// only where there are some, peers that exist, the input only read. Code::internal names rank and step.
Status check_form(const Schedule& schedule);

}  // namespace hocket
