// Lateness: which operations are late, and whose fault that is, as far as peers have told.
#pragma once

#include <chrono>
#include <map>
#include <optional>

#include "src/exec/contexts.hpp"
#include "src/exec/operation_queue.hpp"

namespace hocket {

// Thread rule: the thread that progresses.
class Lateness {
 public:
  // A peer told that it waits there.
  void hear(Rank peer, const Tag& tag);

  // An operation that runs and is given up.
  struct Late {
    const Operation* operation;
    Operation::Missing missing;
  };
  // The first of those. Tells the peers of all others where this rank waits, when it is time; `told_over_window`:
  // whether the peers of any that runs over a window.
  static std::optional<Late> find(OperationQueue& queue, bool& told_over_window);
  // When find() has something to do for an operation.
  static Deadline next_look(const Operation& operation);

  Status did_not_finish(const Late& late, const Contexts& contexts) const;
  static Status could_not_begin(const Operation& operation);

 private:
  struct Told {
    Tag tag;
    Deadline::Clock::time_point at;
  };
  std::map<Rank, Told> told_;  // the latest of each peer
};

}  // namespace hocket
