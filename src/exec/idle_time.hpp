// IdleTime: how long the thread that progresses has nothing to do, and which rank it waits for meanwhile.
#pragma once

#include <x86intrin.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "src/exec/operation_queue.hpp"

namespace hocket {

// Thread rule: the thread that progresses.
class IdleTime {
 public:
  bool runs() const { return context_ != nullptr; }
  // The operation waits. Where nobody knows for whom, nothing is counted.
  void begin(const Operation& operation) {
    rank_ = operation.awaited();
    if (rank_ == no_rank) return;
    context_ = operation.shared_context();
    began_ = __rdtsc();
  }
  // The first operation of the queue that runs waits.
  void begin(const OperationQueue& queue) {
    for (const OperationQueue::Entry& entry : queue.running()) {
      if (!entry.operation->complete()) return begin(*entry.operation);
    }
  }
  // Something has happened, or nobody waits any more. Nothing where it does not run.
  void end() {
    if (context_) count();
  }

 private:
  [[gnu::cold, gnu::noinline]] void count() {
    std::exchange(context_, nullptr)->with(rank_).waited(__rdtsc() - began_);
  }

  std::shared_ptr<Context> context_;  // its operation may have gone when the wait ends
  Rank rank_ = no_rank;
  std::uint64_t began_ = 0;
};

}  // namespace hocket
