// Blocks that members take out of payloads which say how large they are.
#pragma once

#include "src/exec/direct/direct_run.hpp"

namespace hocket {

// All that this member takes of others. False: it has failed, as one of them means another size. Requires that it has
// heard everyone whose data that is.
bool take_packed_blocks(DirectRun& run);

}  // namespace hocket
