// How a link ends: by this side, by the peer, or by a loss; and what is still said and heard then.
#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "transports/shm/shm_link.hpp"

namespace hocket::shm {

std::vector<Completion*> ShmLink::abandon() {
  auto completions = outbox_.abandon();
  for (Completion* completion : inbox_.abandon()) completions.push_back(completion);
  return completions;
}

void ShmLink::close(const Status& why) {
  if (ended_with_) return;
  if (!why.ok()) {
    ended_with_ = why;
    awaits_word_ = attached() && !peer_ended_ && !goodbye_came_;
    last_word(packet_of(why.cause()));
    for (Completion* completion : abandon()) completion->done(why);
    return;
  }
  ended_with_ = Status(Code::aborted, fmt::format("the link to {} is closed", name()));
  owes_goodbye_ = true;
  for (Completion* completion : inbox_.abandon()) completion->done(*ended_with_);
  flush();
  finish_goodbye();
}

bool ShmLink::may_speak() const {
  return attached() && !peer_ended_ && (ended_with_ ? awaits_word_ : !goodbye_came_);
}

void ShmLink::last_word(const Packet& packet) {
  if (!attached() || ::getpid() != context_.owner) return;
  channel().send(packet);
  channel().finish();
}

// Goodbye follows the last message.
void ShmLink::finish_goodbye() {
  if (!owes_goodbye_ || !outbox_.empty() || !attached()) return;
  owes_goodbye_ = false;
  last_word({.kind = PacketKind::goodbye});
}

void ShmLink::fail(const Status& why, bool tell_peer) {
  if (ended_with_) {
    owes_goodbye_ = false;
    for (Completion* completion : outbox_.abandon()) completion->done(why);
    return;
  }
  ended_with_ = why;
  if (tell_peer) {
    awaits_word_ = attached() && !peer_ended_;
    last_word(packet_of(why.cause()));
  }
  for (Completion* completion : abandon()) completion->done(why);
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
  last_word({.kind = PacketKind::goodbye});
  for (Completion* completion : abandon()) completion->done(why);
  context_.listener->peer_left(peer_);
}

}  // namespace hocket::shm
