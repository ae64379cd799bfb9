// SourceSearch: finds out from whom a receive takes its message that may come from any peer.
#pragma once

#include <string_view>
#include <vector>

#include "src/exec/operation_queue.hpp"
#include "src/exec/peers.hpp"

namespace hocket {

// Thread rule: the thread that progresses.
class SourceSearch {
 public:
  // `rank`: this one's number among the peers.
  explicit SourceSearch(Rank rank) : rank_(rank) {}

  // Whether all transports should be asked now what has come. Else, where every search finds a message of which this
  // process knows already, a peer whose messages are still in the kernel would never have its turn.
  bool is_to_look() { return ++searches_ % searches_between_looks == 0; }
  // Lets those that search take messages that have come. Where there is none yet, later receives wait behind them.
  void match(OperationQueue& queue, Peers& peers);

  // Why a receive is given up: its deadline has passed, or all ranks that could send have left. `culprit`: the only
  // rank that could send and does not wait itself; no_rank: not known.
  Status nobody_sent(const Operation& receive, Peers& peers, Rank culprit) const;
  Status nobody_is_left(const Operation& receive, const std::vector<Rank>& departed) const;

 private:
  bool find_source(OperationQueue& queue, OperationQueue::Entry& receive, Peers& peers);
  Status give_up(const Operation& receive, Code code, std::string_view why, Rank peer) const;

  static constexpr unsigned searches_between_looks = 32;

  const Rank rank_;
  Rank next_source_ = 0;  // where to look first
  unsigned searches_ = 0;
};

}  // namespace hocket
