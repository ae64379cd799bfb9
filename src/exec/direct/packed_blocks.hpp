// Blocks that members take out of payloads which say how large they are.
#pragma once

#include "src/exec/direct/direct_run.hpp"

namespace hocket {

// All that this member takes of others. Fails where one of them means another size. Requires that it has heard everyone
// whose data that is.
void take_packed_blocks(DirectRun& run);

}  // namespace hocket
