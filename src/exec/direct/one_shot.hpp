// The one-shot path: everyone's data is small and lies in its announcement or staging area, so each member combines
// what it needs itself, and nobody waits for anybody again.
#pragma once

#include "src/exec/direct/direct_run.hpp"

namespace hocket {

// All that this member takes. Requires that it has heard everyone whose data that is.
void move_at_once(DirectRun& run);

}  // namespace hocket
