// EventSource: what moves when it is asked to, and can be slept on meanwhile: a transport, or several of them as one.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "src/spi/status.hpp"

namespace hocket {

// Thread rule: one thread at a time (the one that progresses), except that another may progress while watch() is slept
// on.
class EventSource {
 public:
  virtual ~EventSource() = default;

  // Moves what can be moved without waiting; returns the number of things that happened (0: nothing to do now).
  virtual std::size_t progress() = 0;
  // Where ranks share cores, as a wait begins: whether a peer whose short message this thread awaits may be running
  // now, as it waited on another core last. Tells the peers which core this is. A transport may leave it out.
  virtual bool awaits_another_core() { return false; }
  // Whether to look also at links on which no receive is posted, so that Link::probe() finds what has come, and a
  // sleeper is woken for it: once for each message, as one that probe() has told stays where it is. Off at first.
  virtual void listen(bool on) = 0;
  // Before sleeping: appends what poll(2) must watch so that progress() is called when it can do something. Returns
  // false if something can be done already, so do not sleep. Each arm() that returned true is followed by a disarm().
  virtual bool arm(std::vector<pollfd>& interests) = 0;
  virtual void disarm() = 0;
  // While nobody progresses: appends what to watch so that a peer's end, or a newcomer who connects, is noticed, but
  // not the arrival of ordinary data. What progress() cannot clear is left out, so that watching never spins. The
  // descriptors stay open until the transport is destroyed, so another thread may progress meanwhile. The next
  // progress() that has nothing to move looks at all of it.
  virtual void watch(std::vector<pollfd>& interests) = 0;
  // Grows whenever watch() may append what it did not append before: the thread that progresses then shows the watcher
  // the new list.
  virtual std::uint64_t watch_epoch() const = 0;
  // When progress() must be called even though nothing watched or armed has happened (a connection's or handshake's
  // deadline); nothing: no such need.
  virtual std::optional<Deadline> next_deadline() const = 0;
};

}  // namespace hocket
