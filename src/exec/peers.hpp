// What the executor needs of the communicator's connections. The mesh implements it over one or several transports.
#pragma once

#include <optional>

#include "src/spi/transport.hpp"

namespace hocket {

// One direction of the link to a peer.
struct Direction {
  Rank peer = no_rank;
  bool outgoing = false;
};

// As an event source, what all its transports are; listen() also makes all links that are missing, without a deadline.
// Thread rule: one thread at a time (the one that progresses), except watch(), see EventSource.
class Peers : public EventSource {
 public:
  // The link to a peer, made at the first call; it may still be connecting, and breaks at `deadline` if it stays so.
  virtual Result<Link*> link(Rank peer, Deadline deadline) = 0;
  // The same, where it has been made, by this rank or by the peer; else null.
  virtual Link* made_link(Rank peer) {
    (void)peer;
    return nullptr;
  }
  // Whether the peer may still say something to this rank. A link alone does not mean that: the peer may not have
  // dialled yet.
  bool is_connected(Rank peer) {
    const Link* const link = made_link(peer);
    return link != nullptr && link->may_speak();
  }
  virtual Rank size() const = 0;  // of the group, this rank included
  // While it listens, the tag of a peer's next message, see Link::probe().
  virtual std::optional<Tag> probe(Rank peer) = 0;
  // Whether a peer with which this rank has no connection is known to have ended. May block for a moment where a
  // network is silent.
  virtual bool has_ended(Rank peer) {
    (void)peer;
    return false;
  }
  // Whether this rank has asked for a link to that peer over a transport whose links are dialled, the lower rank by the
  // higher: one that lives answers, whatever else it does.
  virtual bool answers_dials(Rank peer) const {
    (void)peer;
    return false;
  }
  // Closes every link with `why`, so that every peer hears of it. All pending completions are done when it returns.
  virtual void close(const Status& why) = 0;
};

}  // namespace hocket
