// What waits in a queue, for whoever wants to see what hangs.
#pragma once

#include <vector>

#include "src/exec/operation_queue.hpp"
#include "src/exec/recorder.hpp"

namespace hocket {

std::vector<RecordedWait> waits_of(const OperationQueue& queue);

}  // namespace hocket
