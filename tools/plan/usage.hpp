// What a person wrote wrong on hocket-plan's command line, and how its arguments are read.
#pragma once

#include <string>

#include "src/spi/schedule.hpp"

namespace hocket {

// One sentence.
struct UsageError {
  std::string sentence;
};

// These throw UsageError.
Collective collective_of(const std::string& name);
// An empty name is enough where there is only one.
const Algorithm& algorithm_of(Collective collective, const std::string& name);
void check_rank(std::string_view option, Rank rank, Rank ranks);

}  // namespace hocket
