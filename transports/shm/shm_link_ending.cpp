// How a link ends: by this side, by the peer, or by a loss; and what is still said and heard then.
#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "transports/shm/shm_link.hpp"

namespace hocket::shm {
namespace {

const Packet goodbye_packet{.kind = PacketKind::goodbye};

}  // namespace

Status ShmLink::lost() const {
  return problem(Code::peer_lost, fmt::format("{} is gone (its connection ended without goodbye): look at what that "
                                              "process printed last",
                                              name()));
}

void ShmLink::abandon(const Status& why) {
  outbox_.abandon(why);
  inbox_.abandon(why);
}

void ShmLink::close(const Status& why) {
  if (ended_with_) return;
  if (!why.ok()) {
    ended_with_ = why;
    awaits_word_ = attached() && !peer_ended_ && !goodbye_came_;
    abandon(why);
    say_why(why);
    return;
  }
  ended_with_ = Status(Code::aborted, fmt::format("the link to {} is closed", name()));
  owes_goodbye_ = true;
  inbox_.abandon(*ended_with_);
  flush();
  finish_goodbye();
}

bool ShmLink::may_speak() const {
  return attached() && !peer_ended_ && (ended_with_ ? awaits_word_ : !goodbye_came_);
}

void ShmLink::last_word(const Packet& packet) {
  if (!attached() || ::getpid() != context_.owner) return;
  channel().finish(&packet);
}

// To a peer that is not connected yet, as soon as it is.
void ShmLink::say_why(const Status& why) {
  write_cause(cause_packet_, why.cause());
  owes_cause_ = !attached();
  last_word(cause_packet_);
}

// Goodbye follows the last message.
void ShmLink::finish_goodbye() {
  if (!owes_goodbye_ || !outbox_.empty() || !attached()) return;
  owes_goodbye_ = false;
  last_word(goodbye_packet);
}

void ShmLink::fail(const Status& why, bool tell_peer) {
  if (ended_with_) {
    owes_goodbye_ = false;
    outbox_.abandon(why);
    return;
  }
  ended_with_ = why;
  abandon(why);
  if (tell_peer) {
    awaits_word_ = attached() && !peer_ended_;
    say_why(why);
  }
  context_.listener->peer_failed(peer_, why);
}

void ShmLink::malformed(std::string_view what) {
  fail(problem(Code::protocol_error, fmt::format("{} does not keep to Hocket's protocol: {}", name(), what)), true);
}

// The peer has said goodbye. Its messages come first.
void ShmLink::leave_if_drained() {
  if (!goodbye_came_ || !up() || !inbox_.drained()) return;
  leave(problem(Code::peer_lost, fmt::format("{} has left the group", name())));
}

void ShmLink::leave(const Status& why) {
  if (ended_with_) return fail(why, false);
  ended_with_ = why;
  abandon(why);
  last_word(goodbye_packet);
  context_.listener->peer_left(peer_);
}

// Once this side has closed the link, only the peer's word and the end of the socket still matter.
void ShmLink::hear_last_word(const Packet& packet) {
  if (!awaits_word_ || (packet.kind != PacketKind::cause && packet.kind != PacketKind::goodbye)) return;
  awaits_word_ = false;
  if (packet.kind != PacketKind::cause) return;
  Cause cause = cause_of(packet);
  if (cause.rank == no_rank) cause.rank = peer_;
  context_.listener->peer_broke(peer_, Status(std::move(cause)));
}

}  // namespace hocket::shm
