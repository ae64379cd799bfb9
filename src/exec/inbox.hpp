// Inbox: operations that any thread has submitted and the thread that progresses has not accepted yet.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "src/exec/operation.hpp"

namespace hocket {

// Thread rule: any thread.
class Inbox {
 public:
  // Puts them in together, and gives collectives their numbers. False where it is closed. If memory runs out, nothing
  // has happened.
  bool put(std::span<const std::shared_ptr<Operation>> operations) {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    operations_.insert(operations_.end(), operations.begin(), operations.end());
    for (const auto& operation : operations) operation->number_if_collective();
    return true;
  }
  // Moves what is in it to `operations`, which is empty, in the order in which it was put in.
  void take(std::vector<std::shared_ptr<Operation>>& operations) {
    const std::lock_guard lock(mutex_);
    operations_.swap(operations);
  }
  // From now on it takes no more.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<Operation>> operations_;  // guarded by mutex_
  bool closed_ = false;                                 // likewise
};

}  // namespace hocket
