// Ranks: the numbers of the processes or threads that take part.
#pragma once

#include <cstdint>

namespace hocket {

using Rank = std::int32_t;  // 0 … world size - 1; -1 where there is none
inline constexpr Rank no_rank = -1;
inline constexpr Rank group_ranks_max = 1 << 20;  // that a group may have, run, described or simulated

}  // namespace hocket
