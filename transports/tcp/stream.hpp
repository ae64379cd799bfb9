// One connection of a link, with its sending and its receiving half.
#pragma once

#include <poll.h>

#include <span>
#include <utility>

#include "src/base/socket.hpp"
#include "transports/tcp/inbox.hpp"
#include "transports/tcp/outbox.hpp"
#include "transports/tcp/wire.hpp"

namespace hocket::tcp {

struct Stream {
  explicit Stream(StreamNumber of_link) : number(of_link), inbox(of_link) {}

  bool attached() const { return static_cast<bool>(socket); }
  // Whether the peer has said all that it will say.
  bool ended() const { return !attached() || inbox.ended() || drained; }
  // Whether receiving makes sense as long as the link works.
  bool wanted() const { return attached() && !left && inbox.messages().wanted(); }
  bool unexpected() const { return left || inbox.messages().unexpected(); }
  // Whether something has come that no poll(2) tells of, and that may be taken.
  bool hidden() const { return socket.pending() && !ended() && !unexpected(); }
  // Whether bytes still have to go out.
  bool flushing() const { return !shut && (!outbox.empty() || socket.flushing()); }
  // What poll(2) must watch: for everything, or for the end of the connection and room for last words only. 0: nothing.
  short interest(bool link_ended) const;
  short end_interest(bool link_ended) const;

  // Whether a small message, with none before it, went out whole. If not, it must be pushed next.
  bool send_at_once(const Frame& header, ConstBuffer payload) {
    return attached() && !shut && !flushing() && outbox.send_at_once(socket, header, payload);
  }
  // Sends what can be sent, then closes our direction if `last` words have gone out. Keeps an error in send_error.
  std::size_t flush(bool last);
  // Closes our direction at once: the peer does not listen any more.
  void cut();
  // Whether bytes of what comes behind unexpected messages have come that no poll(2) tells of, and are wanted.
  bool hidden_behind() const { return reads_ahead && socket.pending() && unexpected() && inbox.may_read_ahead(); }
  // Ends all that waits to go out, and leaves nothing of it.
  void drop_sends(const Status& why);
  // Reads and discards, so that the kernel does not answer unread bytes with a reset that would kill our last words.
  void drain(std::span<std::byte> staging);

  StreamNumber number;
  Socket socket{};
  Outbox outbox{};
  Inbox inbox;
  int send_error = 0;        // seen while sending, not yet dealt with
  bool shut = false;         // our direction is closed
  bool left = false;         // the peer has said goodbye here
  bool drained = false;      // the peer's direction has ended after ours
  bool reads_ahead = false;  // this rank waits, and listens behind messages that it does not expect
};

}  // namespace hocket::tcp
