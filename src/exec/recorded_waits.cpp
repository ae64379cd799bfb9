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
  const auto add = [&](const OperationQueue::Entries& entries, bool begun) {
    for (const auto& entry : entries) {
      add_one(*entry.operation, begun);
      for (std::size_t at = 0; at < entry.followers.size(); ++at) add_one(*entry.followers[at], false);
    }
  };
  add(queue.running(), true);
  add(queue.searching(), false);
  add(queue.waiting(), false);
  return waits;
}

}  // namespace hocket
