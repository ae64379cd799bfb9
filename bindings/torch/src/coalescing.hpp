// Coalescing: what is called between startCoalescing and endCoalescing, and one work for all of it.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "bindings/torch/src/work.hpp"

namespace hocket_torch {

// Calls start at once in a section, too, since none of them needs the others. But their works do not wait before its
// end, so that a thread may send and receive in any order.
class Coalescing {
 public:
  // Opens a section of this thread. One that an exception has left open ends.
  void start();
  // Ends it; the work is complete when all its calls are.
  Handle end();
  // Ends it, and waits for those of its calls whose works the caller does not hold.
  void end(const std::vector<Handle>& held);
  // The work of a call, which belongs to the section if this thread has one.
  Handle work(c10d::OpType type, const char* title, Started started);

 private:
  std::vector<Handle> close();

  std::atomic<bool> open_{false};  // there is a section: what every call looks at first
  std::mutex mutex_;               // guards all below
  std::shared_ptr<Section> section_;
  std::vector<Handle> works_;  // of the section
};

}  // namespace hocket_torch
