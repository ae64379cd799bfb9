// What the ranks of a probe do.
#pragma once

#include <cstdint>
#include <optional>

#include "tools/plan/probe.hpp"

namespace hocket {

// On rank 0 the figures, elsewhere nothing. Every rank of the launcher's group calls it. Fails as communication does.
Result<std::optional<ProbeFigures>> measure_here();

// Equal for processes of one host. probe.cpp, which sees the library's inside.
std::uint64_t number_of_host();

}  // namespace hocket
