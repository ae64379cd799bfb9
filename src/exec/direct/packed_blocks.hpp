// Blocks that members take out of payloads which say how large they are.
#pragma once

#include "src/exec/direct/direct_run.hpp"

namespace hocket {

// Where the one who gives a block says that it has another size than this member means: that is a mismatch.
[[gnu::cold, gnu::noinline]] void fail_for_sizes(DirectRun& run, const BlockExchange::Taken& block,
                                                 BlockExchange::Size given);

}  // namespace hocket
