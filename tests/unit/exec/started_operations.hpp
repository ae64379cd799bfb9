// What of a queue may start.
#pragma once

#include <vector>

#include "src/exec/operation_queue.hpp"

namespace hocket::testing_support {

// Starts it, in this order.
inline std::vector<Operation*> started(OperationQueue& queue) {
  std::vector<Operation*> operations;
  while (OperationQueue::Entry* const entry = queue.start_next()) operations.push_back(entry->operation.get());
  return operations;
}

}  // namespace hocket::testing_support
