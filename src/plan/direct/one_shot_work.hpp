// What members do on the one-shot path, each for itself alone.
#pragma once

#include <cstdint>

#include "src/plan/direct/cost.hpp"

namespace hocket {

// What a member makes of the inputs that it has heard of.
DirectWork one_shot_output(const Exchange& exchange, std::uint32_t member, bool in_place);
// A prefix: each rank needs the inputs of the ranks before it, and none waits for another to have done anything.
DirectTerms one_shot_prefix(const Exchange& exchange, bool in_place);

}  // namespace hocket
