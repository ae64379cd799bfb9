// The threads on which torch's futures are completed.
#pragma once

#include <functional>

namespace hocket_torch {

// Runs `task` on another thread, soon; never, once Python ends. A future's callbacks may run Python code and wait for
// other works, which nobody may do on the thread that makes progress. There is one such thread for the process; another
// one is started only if a task comes while all of them are in one.
void complete_elsewhere(std::function<void()> task);

}  // namespace hocket_torch
