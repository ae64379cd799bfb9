// How a link ends: by this side, by the peer, or by a loss; and what is still said and heard then.
#include <algorithm>
#include <utility>

#include "transports/tcp/tcp_link.hpp"

namespace hocket::tcp {

// ---- by this side ---------------------------------------------------------------------------------------------------

void TcpLink::close(const Status& why) {
  if (ended_with_) return;
  if (why.ok()) {
    ended_with_ = name_.closed();
    for (Stream& stream : streams_) {
      stream.outbox.finish_with(encode(Header{.kind = FrameKind::goodbye}));
      stream.inbox.messages().abandon(*ended_with_);
      flush(stream);
    }
  } else {
    end_with(why, encode_cause(why.cause()));
  }
}

bool TcpLink::may_speak() const {
  return attached() && (ended_with_ ? awaits_word_ : !streams_.front().left && !streams_.front().ended());
}

// Ends all that is pending. `last`: what to say yet, on every stream, so that whichever is heard first tells why; empty
// where the peer does not listen any more.
void TcpLink::end_with(const Status& why, std::span<const std::byte> last) {
  ended_with_ = why;
  failed_ = true;
  awaits_word_ = !last.empty() && attached() && !streams_.front().ended();
  for (Stream& stream : streams_) {
    stream.outbox.abandon(why);
    stream.inbox.messages().abandon(why);
    const bool comes_late = !stream.attached() && attached();  // the others have told the peer by then
    if (last.empty() || comes_late) {
      stream.cut();
    } else {
      stream.outbox.finish_with(last);
      flush(stream);
    }
  }
}

void TcpLink::fail(const Status& why, bool tell_peer) {
  if (ended_with_) {
    failed_ = true;
    for (Stream& stream : streams_) {
      stream.outbox.abandon(why);
      if (!stream.attached() && attached()) stream.outbox.clear();
    }
    return;
  }
  end_with(why, tell_peer ? encode_cause(why.cause()) : CauseFrame());
  context_.listener->peer_failed(peer(), why);
}

void TcpLink::leave(const Status& why) {
  if (ended_with_) return fail(why, false);
  end_with(why, {});
  context_.listener->peer_left(peer());
}

// ---- by the other side ----------------------------------------------------------------------------------------------

// A stream is broken. What the peer said before it went comes first, on whichever stream: it may hold the cause.
void TcpLink::lose(Stream& stream, int error) {
  for (Stream& heard : streams_) {
    if (hear_out(heard)) return;
  }
  const auto all_is_here = [](const Stream& one) { return one.left || one.inbox.said_goodbye(); };
  if (std::ranges::all_of(streams_, all_is_here)) {  // the peer left in good order: what it sent can still be received
    for (Stream& heard : streams_) heard.drop_sends(name_.left());
    return;
  }
  fail(name_.lost(stream.inbox.error() != 0 ? stream.inbox.error() : error), false);
}

// Whether the stream said why the link ends.
bool TcpLink::hear_out(Stream& stream) {
  while (working(stream) && !stream.left) {
    const auto progress = stream.inbox.advance(stream.socket, context_.staging);
    const auto event = progress.event == Inbox::Event::none && stream.inbox.messages().unexpected()
                           ? stream.inbox.peek_end(stream.socket)
                           : progress.event;
    if (event != Inbox::Event::end && event != Inbox::Event::error && act_on(stream, event)) return true;
    if (event != Inbox::Event::none || (progress.bytes == 0 && progress.completed == 0)) break;
  }
  return ended_with_.has_value();
}

// After this side has said why it closed the link. Whether the peer has said the same, or will not any more.
bool TcpLink::hear_last_word(Stream& stream) {
  if (!awaits_word_) return false;
  Inbox::Received progress;
  do {
    progress = stream.inbox.advance(stream.socket, context_.staging);
  } while (progress.event == Inbox::Event::none && progress.bytes > 0);
  if (progress.event == Inbox::Event::none) return false;
  awaits_word_ = false;
  if (progress.event != Inbox::Event::cause) return true;
  Cause cause = stream.inbox.messages().take_cause();
  if (cause.rank == no_rank) cause.rank = peer();
  context_.listener->peer_broke(peer(), Status(std::move(cause)));
  return true;
}

// Whether the event ended the link.
bool TcpLink::act_on(Stream& stream, Inbox::Event event) {
  switch (event) {
    case Inbox::Event::none: return false;
    case Inbox::Event::cause: {
      Cause cause = stream.inbox.messages().take_cause();
      if (cause.rank == no_rank) cause.rank = peer();
      fail(Status(std::move(cause)), false);
      return true;
    }
    case Inbox::Event::goodbye:
      stream.left = true;
      if (!std::ranges::all_of(streams_, &Stream::left)) return false;
      leave(name_.left());
      return true;
    case Inbox::Event::mismatch: fail(name_.mismatch(stream.inbox.messages(), *context_.listener), true); return true;
    case Inbox::Event::malformed: fail(name_.malformed(stream.inbox.messages().problem()), true); return true;
    case Inbox::Event::end:
    case Inbox::Event::error: lose(stream, stream.inbox.error()); return true;
  }
  return false;
}

}  // namespace hocket::tcp
