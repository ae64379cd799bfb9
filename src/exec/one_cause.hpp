// OneCause: how ranks that break agree on one cause (docs/internals/wire.md).
#pragma once

#include <poll.h>

#include <vector>

#include "src/exec/peers.hpp"
#include "src/spi/status.hpp"

namespace hocket {

// Thread rule: the thread that progresses.
class OneCause {
 public:
  explicit OneCause(Rank rank) : rank_(rank) {}

  // Whether a peer passed it on, and this rank did not see it itself.
  bool is_told(const Status& why) const;
  // Before this rank says what it has seen: what it is to say. `heard`: what peers say meanwhile.
  Status leave_to_witness(const Status& first_seen, const Status& heard, Peers& peers);
  // Once it has said `own`: the first of the causes that it and others say.
  Status settle(const Status& own, Peers& peers);
  // What a peer says while this rank settles.
  void hear(const Status& why);

 private:
  bool is_only_death(Rank lost, Peers& peers) const;
  Rank witness_of(Rank lost, Peers& peers) const;
  static bool others_may_speak(Rank but, Peers& peers);
  void wait_for_links(Deadline deadline, Peers& peers);

  const Rank rank_;
  Status settled_;  // ok: this rank does not settle
  std::vector<pollfd> interests_;
};

}  // namespace hocket
