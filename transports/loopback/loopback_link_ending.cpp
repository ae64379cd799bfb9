// How a link ends by this side, and what is still heard then.
#include <new>
#include <utility>

#include "transports/loopback/loopback_link.hpp"

namespace hocket::loopback {

// Needs no memory but for messages that the peer has not taken yet.
void LoopbackLink::close(const Status& why) {
  if (ended_with_) return;
  const bool leaves = why.ok() && keep_sent();
  const Status own = leaves ? closed_ : why.ok() ? out_of_memory_ : seen_here(why);
  {
    const std::lock_guard lock(wire_.mutex);
    if (leaves) {
      out_.goodbye = true;
    } else {
      if (broken_there_.ok()) broken_there_ = own;
      awaits_word_ = true;
    }
    end(own);
  }
  abandon(leaves ? Status() : own, own);
  hub_.mailbox(peer_).raise();
}

// What the peer has not taken yet is copied, so that leaving waits for nobody. False where memory runs out.
bool LoopbackLink::keep_sent() {
  const std::lock_guard lock(wire_.mutex);
  try {
    for (Parcel& parcel : out_.parcels) {
      if (parcel.borrowed()) parcel.copy.assign(parcel.data, parcel.data + parcel.bytes);
    }
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// With this rank as the one that saw it, unless it names another.
Status LoopbackLink::seen_here(const Status& why) const {
  if (why.cause().rank != no_rank) return why;
  try {
    Cause cause = why.cause();
    cause.rank = rank_;
    return Status(std::move(cause));
  } catch (const std::bad_alloc&) {
    return out_of_memory_;
  }
}

bool LoopbackLink::may_speak() const {
  if (ended_with_ && !awaits_word_) return false;
  const std::lock_guard lock(wire_.mutex);
  return both_opened() && !in_.goodbye && (!in_.silent || !broken_here_.ok());
}

std::size_t LoopbackLink::hear_last_word() {
  Status word;
  {
    const std::lock_guard lock(wire_.mutex);
    word = broken_here_;
  }
  if (word.ok()) return 0;
  awaits_word_ = false;
  const bool passed_on = word.cause().rank != no_rank && word.cause().rank != rank_;  // else the peer is just gone
  if (passed_on) listener_->peer_broke(peer_, word);
  return 1;
}

// Requires the wire's lock. Withdraws what refers to our buffers.
void LoopbackLink::end(const Status& why) {
  ended_with_ = why;
  out_.silent = true;
  out_.withdraw();
}

// Requires that the wire is not locked. Ends all that is pending.
void LoopbackLink::abandon(const Status& sends, const Status& receives) {
  while (!sent_.empty()) {
    Completion& completion = *sent_.front().completion;
    sent_.pop_front();
    completion.done(sends);
  }
  while (!posted_.empty()) {
    Completion& completion = *posted_.front().completion;
    posted_.pop_front();
    completion.done(receives);
  }
}

}  // namespace hocket::loopback
