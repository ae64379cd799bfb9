// What the executor needs of the communicator's connections. The mesh implements it over one or several transports.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "src/spi/transport.hpp"

namespace hocket {

// One direction of the link to a peer.
struct Direction {
  Rank peer = no_rank;
  bool outgoing = false;
};

// Thread rule: one thread at a time (the one that progresses), except watch(), see Transport.
class Peers {
 public:
  virtual ~Peers() = default;
  // The link to a peer, made at the first call; it may still be connecting, and breaks at `deadline` if it stays so.
  virtual Result<Link*> link(Rank peer, Deadline deadline) = 0;
  virtual Rank size() const = 0;  // of the group, this rank included
  // For receives from any peer: makes all links that are missing, without a deadline, and lets the transports look at
  // messages for which no receive is posted; then probe() has the tag of a peer's next one, see Link::probe().
  virtual void listen(bool on) = 0;
  virtual std::optional<Tag> probe(Rank peer) = 0;
  // These are Transport's, over all transports.
  virtual std::size_t progress() = 0;
  virtual bool arm(std::vector<pollfd>& interests) = 0;
  virtual void disarm() = 0;
  virtual void watch(std::vector<pollfd>& interests) = 0;
  virtual std::optional<Deadline> next_deadline() const = 0;
  virtual std::uint64_t watch_epoch() const = 0;
  // Closes every link with `why`, so that every peer hears of it. All pending completions are done when it returns.
  virtual void close(const Status& why) = 0;
};

}  // namespace hocket
