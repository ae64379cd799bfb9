#include "src/exec/one_cause.hpp"

#include <chrono>
#include <utility>

#include "src/exec/first_failure.hpp"
#include "src/exec/lateness.hpp"

namespace hocket {
namespace {

// How long a death is left to the rank that is to tell of it, and how long a rank that breaks hears what others say. A
// word behind messages that fill a link comes through when its receiver has waited for 200 ms.
constexpr std::chrono::milliseconds left_to_witness{200};
constexpr std::chrono::milliseconds settling_time{250};
// From the end of a process's connections to its own; and from a death until its witness's word has come, mostly.
constexpr std::chrono::milliseconds dying{30};

}  // namespace

bool OneCause::is_told(const Status& why) const {
  return why.cause().rank != no_rank && why.cause().rank != rank_;
}

void OneCause::hear(const Status& why) {
  if (!settled_.ok() && precedes(why.cause(), settled_.cause())) settled_ = why;
}

// The rank before one that is lost is always connected with it, and is the one to say so. Others that see it leave it
// to that one for a moment, so that the same cause goes round, with the same rank that saw it. Nobody does where only a
// connection is lost; and where more have died, no word may come through.
Status OneCause::leave_to_witness(const Status& first_seen, const Status& heard, Peers& peers) {
  Status seen = first_seen;
  if (seen.code() != Code::peer_lost || is_told(seen) || seen.cause().peer == no_rank) return seen;
  try {
    Lateness::listen_behind_messages(true, peers);  // the word may come behind what nobody receives any more
    const Deadline deadline = Deadline::after(left_to_witness);
    Deadline next_look = Deadline::after(dying);
    for (; !deadline.passed(); wait_for_links(earlier(deadline, next_look), peers)) {
      if (!heard.ok()) {
        if (is_told(heard)) return heard;
        if (precedes(heard.cause(), seen.cause())) seen = heard;
      }
      const Rank lost = seen.cause().peer;
      if (witness_of(lost, peers) == rank_ || !others_may_speak(lost, peers)) return seen;
      if (!next_look.passed()) continue;
      if (!is_only_death(lost, peers)) return seen;
      next_look = Deadline::after(dying);
    }
  } catch (...) {  // then it is said at once
  }
  return seen;
}

// Whether this rank, and no other, is known to have ended.
bool OneCause::is_only_death(Rank lost, Peers& peers) const {
  for (Rank peer = 0; peer < peers.size(); ++peer) {
    const bool lives = peer == rank_ || peers.is_connected(peer) || !peers.has_ended(peer);
    if (lives == (peer == lost)) return false;
  }
  return true;
}

// The next rank before it of which this one does not know that it is gone, too.
Rank OneCause::witness_of(Rank lost, Peers& peers) const {
  const Rank size = peers.size();
  for (Rank distance = 1; distance < size; ++distance) {
    const Rank rank = (lost + size - distance) % size;
    if (rank == rank_) return rank;
    const Link* const link = peers.made_link(rank);
    if (link != nullptr ? link->may_speak() : !peers.has_ended(rank)) return rank;
  }
  return rank_;
}

// Every rank says once, to all whom it is connected with, why it breaks, or that it was told by them. When all have,
// those that are connected with each other know the same causes.
Status OneCause::settle(const Status& own, Peers& peers) {
  settled_ = own;
  try {
    const Deadline deadline = Deadline::after(settling_time);
    while (others_may_speak(own.cause().peer, peers) && !deadline.passed()) wait_for_links(deadline, peers);
  } catch (...) {  // then what has been heard counts
  }
  return std::exchange(settled_, Status());
}

// Whether any peer but that one may still say something to this rank.
bool OneCause::others_may_speak(Rank but, Peers& peers) {
  for (Rank peer = 0; peer < peers.size(); ++peer) {
    if (peer != but && peers.is_connected(peer)) return true;
  }
  return false;
}

void OneCause::wait_for_links(Deadline deadline, Peers& peers) {
  if (peers.progress() != 0) return;
  interests_.clear();
  if (!peers.arm(interests_)) return;
  if (const auto next = peers.next_deadline()) deadline = earlier(deadline, *next);
  ::poll(interests_.data(), interests_.size(), deadline.remaining_ms());
  peers.disarm();
}

}  // namespace hocket
