// Tells in advance where this process may have fewer file descriptors than its links may take.
#pragma once

#include <cstddef>
#include <string>

#include "src/spi/types.hpp"

namespace hocket::comm {

// What to tell; empty: `limit` will do. `open`: descriptors now; `to_come`: what links that are not made yet may take.
std::string descriptor_warning(Rank rank, Rank size, std::size_t open, std::size_t to_come, std::size_t limit);

// Logs that: a warning of rank 0, once in a process; else for those who ask for more.
void warn_of_descriptor_limit(Rank rank, Rank size, std::size_t to_come);

}  // namespace hocket::comm
