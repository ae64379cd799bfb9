// How ranks that break agree on one cause.
#include <poll.h>

#include <utility>

#include "src/exec/progress_engine.hpp"

namespace hocket {
namespace {

// How long a death is left to the rank that is to tell of it, and how long a rank that breaks hears what others say. A
// word behind messages that fill a link comes through when its receiver has waited for 200 ms.
constexpr std::chrono::milliseconds left_to_witness{200};
constexpr std::chrono::milliseconds settling_time{250};

}  // namespace

// Whether a peer passed it on, and this rank did not see it itself.
bool ProgressEngine::is_told(const Status& why) const {
  return why.cause().rank != no_rank && why.cause().rank != rank_;
}

// The rank before one that is lost is always connected with it, and is the one to say so. Others that see it leave it
// to that one for a moment, so that the same cause goes round, with the same rank that saw it.
Status ProgressEngine::leave_to_witness(const Status& first_seen) {
  Status seen = first_seen;
  if (seen.code() != Code::peer_lost || is_told(seen) || seen.cause().peer == no_rank || is_stopping()) return seen;
  try {
    Lateness::listen_behind_messages(true, *peers_);  // the word may come behind what nobody receives any more
    for (const Deadline deadline = Deadline::after(left_to_witness); !deadline.passed(); wait_for_links(deadline)) {
      if (!peer_failure_.ok()) {
        if (is_told(peer_failure_)) return peer_failure_;
        if (precedes(peer_failure_.cause(), seen.cause())) seen = peer_failure_;
      }
      if (witness_of(seen.cause().peer) == rank_ || !others_may_speak(seen.cause().peer)) return seen;
    }
  } catch (...) {  // then it is said at once
  }
  return seen;
}

// The next rank before it of which this one does not know that it is gone, too.
Rank ProgressEngine::witness_of(Rank lost) {
  const Rank size = peers_->size();
  for (Rank distance = 1; distance < size; ++distance) {
    const Rank rank = (lost + size - distance) % size;
    if (rank == rank_) return rank;
    const Link* const link = peers_->made_link(rank);
    if (link != nullptr ? link->may_speak() : !peers_->has_ended(rank)) return rank;
  }
  return rank_;
}

// Every rank says once, to all whom it is connected with, why it breaks, or that it was told by them. When all have,
// those that are connected with each other know the same causes.
Status ProgressEngine::settle(const Status& own) {
  if (is_stopping()) return own;
  settled_ = own;
  try {
    const Deadline deadline = Deadline::after(settling_time);
    while (others_may_speak(own.cause().peer) && !deadline.passed()) wait_for_links(deadline);
    watcher_.show(peers_);  // what links could not send yet
  } catch (...) {           // then what has been heard counts
  }
  return std::exchange(settled_, Status());
}

// Whether any peer but that one may still say something to this rank.
bool ProgressEngine::others_may_speak(Rank but) {
  for (Rank peer = 0; peer < peers_->size(); ++peer) {
    const Link* const link = peer == but ? nullptr : peers_->made_link(peer);
    if (link != nullptr && link->may_speak()) return true;
  }
  return false;
}

void ProgressEngine::wait_for_links(Deadline deadline) {
  if (peers_->progress() != 0) return;
  interests_.clear();
  if (!peers_->arm(interests_)) return;
  if (const auto next = peers_->next_deadline()) deadline = earlier(deadline, *next);
  ::poll(interests_.data(), interests_.size(), deadline.remaining_ms());
  peers_->disarm();
}

}  // namespace hocket
