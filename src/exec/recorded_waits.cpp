#include "src/exec/recorded_waits.hpp"

#include <utility>

namespace hocket {

std::vector<RecordedWait> waits_of(const OperationQueue& queue) {
  std::vector<RecordedWait> waits;
  const auto add_one = [&](const Operation& operation, bool begun) {
    if (begun && operation.complete() && operation.failure().ok()) return;
    auto missing = begun ? operation.missing() : Operation::Missing{};
    // A message that failed with its link waits for nobody any more, but did.
    const Rank peer = operation.detail().peer;
    if (begun && missing.peers.empty() && peer != no_rank) missing.peers.push_back(peer);
    waits.push_back({.tag = operation.tag(),
                     .peer = peer,
                     .begun = begun,
                     .seconds = operation.elapsed_seconds(),
                     .awaited = std::move(missing.peers),
                     .text = std::move(missing.text)});
  };
  // One for which the operation of its entry runs later.
  const auto add_run = [&](const Operation& operation, Deadline::Clock::time_point began) {
    Tag tag = operation.tag();
    tag.sequence = 0;
    const std::chrono::duration<double> time = Deadline::Clock::now() - began;
    const bool has_clock = began != Deadline::Clock::time_point();
    waits.push_back({.tag = tag, .peer = operation.detail().peer, .seconds = has_clock ? time.count() : 0});
  };
  const auto add = [&](const OperationQueue::Entries& entries, bool begun) {
    for (const auto& entry : entries) {
      add_one(*entry.operation, begun);
      for (std::size_t at = 0; at < entry.followers.size(); ++at) {
        const auto& next = entry.followers[at];
        next.operation != nullptr ? add_one(*next.operation, false) : add_run(*entry.operation, next.clock_began);
      }
    }
  };
  add(queue.running(), true);
  add(queue.searching(), false);
  add(queue.waiting(), false);
  return waits;
}

}  // namespace hocket
