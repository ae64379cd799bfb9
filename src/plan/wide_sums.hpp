// Where the sums of narrow floats are rounded: as late as a schedule allows without a byte more on the wire.
#pragma once

#include "src/spi/schedule.hpp"

namespace hocket {

// The same schedule, in which partial sums lie in wide cells wherever all that reads them adds to them on this rank.
// What leaves, is copied or is a result is rounded, by the step that makes it. Which sums these are depends on the
// schedule alone, so what ranks agree on stays the same, and the verifier proves it like any other schedule.
Schedule with_wide_sums(Schedule schedule);

}  // namespace hocket
