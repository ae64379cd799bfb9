#include "src/exec/lateness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace hocket {
namespace {

constexpr std::chrono::milliseconds lateness_interval{200};
constexpr std::chrono::milliseconds late_look_interval{50};
// How soon a peer is told again: news that chase each other round a ring of waits do not fill the links.
constexpr std::chrono::milliseconds news_interval{10};
// How soon the same is passed on again: before those who wait say it again.
constexpr std::chrono::milliseconds passing_interval{400};

// A call on a communicator that the peer is not in has no number that means something to it.
Tag tag_for(Rank peer, const Operation& operation) {
  Tag tag = operation.tag();
  if (!operation.context().has(peer)) tag.sequence = 0;
  if (tag.call.root == no_rank) tag.call.root = 0;  // of a receive from any rank: the wire has no word for that
  return tag;
}

}  // namespace

void Lateness::hear(Rank peer, const Waiting& what, Rank peers) {
  told_.hear(peer, what, peers);
  if (tells_) next_look_ = Deadline(Deadline::Clock::now());
  if (!lines_) note_news(peer, what, peers);
}

// Round the ring, until it comes to the rank that is meant, or to one that has passed it on already. What a rank hears
// that waits itself it tells in its own words.
void Lateness::note_news(Rank from, const Waiting& what, Rank peers) {
  const auto sound = [&](Rank rank) { return rank >= 0 && rank < peers && rank != rank_; };
  if (!sound(what.missing) || !sound(what.witness) || what.missing == from) return;
  if (tells_ && !is_hearsay(what)) return;
  const auto now = Deadline::Clock::now();
  const auto before = passed_on_.find(what.missing);
  const bool old = before != passed_on_.end() && now < before->second.at + passing_interval;
  if (old && before->second.what.witness <= what.witness) return;
  passed_on_.insert_or_assign(what.missing, Said{what, now});
  for (const Rank neighbour : {(rank_ + 1) % peers, (rank_ + peers - 1) % peers}) {
    if (neighbour != from && neighbour != what.missing) to_pass_on_.emplace_back(neighbour, hearsay_of(what));
  }
}

void Lateness::pass_on_now(Peers& peers) {
  for (const auto& [peer, what] : std::exchange(to_pass_on_, {})) {
    if (Link* const link = peers.made_link(peer)) link->tell_waiting(what);
  }
}

// A rank that does not wait for the silent one itself, or is not the lowest that does, leaves the verdict for a moment
// to the one that is, so that all learn the same cause.
std::optional<Lateness::Late> Lateness::find(OperationQueue& queue, Peers& peers, bool& told_over_window) {
  const auto now = Deadline::Clock::now();
  const auto is_to_tell = [&](const OperationQueue::Entry& entry) {
    return !entry.operation->complete() && now >= entry.operation->next_telling().at();
  };
  if (now >= next_look_.at() || std::ranges::any_of(queue.running(), is_to_tell) ||
      std::ranges::any_of(queue.searching(), is_to_tell)) {
    look(queue, peers, told_over_window);
  }
  for (const auto& entry : queue.running()) {
    const Operation& operation = *entry.operation;
    if (operation.complete()) continue;  // it waits for nobody, though its clock may have run while it was queued
    if (now < operation.deadline().at()) continue;
    auto missing = operation.missing();
    const Blame blame = blame_of(operation, missing.peers, peers);
    if (blame.witness != rank_ && now < operation.deadline().later(OperationQueue::grace).at()) continue;
    return Late{&operation, std::move(missing), blame.missing == no_rank ? blame.through : blame.missing};
  }
  return std::nullopt;
}

// Whose turn it is to say again that they wait, and what this rank waits for. What waits for nobody else, but for this
// rank's own stream, says nothing: others would take it to be held up by somebody.
Lateness::Waits Lateness::waits(OperationQueue& queue, Deadline::Clock::time_point now) {
  Waits found;
  for (OperationQueue::Entries* const entries : {&queue.running(), &queue.searching()}) {
    for (const auto& entry : *entries) {
      Operation& operation = *entry.operation;
      if (operation.complete()) continue;
      const bool is_due = now >= operation.next_telling().at();
      if (is_due) operation.tell_again_at(Deadline(now + telling_interval));
      if (!operation.has_told()) continue;
      const auto missing = operation.missing();
      if (missing.peers.empty() && !operation.needs_source()) continue;
      if (is_due) {
        found.due.push_back(&operation);
        found.over_window |= entry.window != nullptr;
      }
      if (found.first == nullptr) found.first = &operation;
      found.awaited.insert(found.awaited.end(), missing.peers.begin(), missing.peers.end());
    }
  }
  return found;
}

Blame Lateness::blame_of(const Operation& waiting, std::span<const Rank> awaited, Peers& peers) const {
  std::vector<Rank> heard, unheard;
  for (const Rank peer : awaited) {
    const bool could_say_so = lines_ || chains().waits(peer) || would_answer(peer, peers) || peers.is_connected(peer);
    (could_say_so ? heard : unheard).push_back(peer);
  }
  return blame_for(heard, rank_, chains(), unheard, waiting.context().number());
}

bool Lateness::would_answer(Rank peer, const Peers& peers) const {
  return peer < rank_ && peers.answers_dials(peer);
}

Status Lateness::of_late_peer(const Status& why, std::uint32_t communicator, const Peers& peers) const {
  const Rank end = would_answer(why.cause().peer, peers) ? no_rank : chains().some_end(communicator);
  if (end == no_rank || end == why.cause().peer) return why;
  Cause cause = why.cause();
  cause.message += fmt::format("; the chain of waits ends at rank {}", end);
  cause.peer = end;
  return Status(std::move(cause));
}

// Only if all others wait it is clear for whom.
Blame Lateness::blame_of_search(const Operation& receive, const Peers& peers) const {
  std::vector<Rank> silent;
  for (Rank peer = 0; peer < peers.size(); ++peer) {
    const bool may_send = peer != rank_ && receive.context().has(peer);
    if (may_send && !chains().waits(peer)) silent.push_back(peer);
  }
  return silent.size() == 1 ? blame_for(silent, rank_, chains()) : Blame{};
}

// Says again what is to be said again, to whom it concerns.
void Lateness::look(OperationQueue& queue, Peers& peers, bool& told_over_window) {
  const auto now = Deadline::Clock::now();
  const Waits found = waits(queue, now);
  told_over_window |= found.over_window;
  next_look_ = Deadline::never();
  if (found.first == nullptr) return take_back(peers);
  tells_ = true;
  next_look_ = Deadline(now + (found.first->deadline().passed() ? late_look_interval : lateness_interval));
  const Blame blame =
      found.first->needs_source() ? blame_of_search(*found.first, peers) : blame_of(*found.first, found.awaited, peers);
  if (lines_) lines_->show(blame.through);
  for (Operation* const operation : found.due) {
    operation->tell_waiting(blame.missing, blame.witness);
    for (const Direction& direction : operation->directions()) {
      const Waiting what{.tag = operation->tag(), .missing = blame.missing, .witness = blame.witness};
      said_.insert_or_assign(direction.peer, Said{what, now});
    }
    if (!lines_ || several_windows_) tell_members(*operation, blame, peers);
  }
  if (lines_) return;
  spread(*found.first, blame, peers);
  listen_behind_messages(true, peers);  // takes time
}

void Lateness::listen_behind_messages(bool on, Peers& peers) {
  for (Rank peer = 0; peer < peers.size(); ++peer) {
    if (Link* const link = peers.made_link(peer)) link->listen_behind_messages(on);
  }
}

// Tells also those who asked, and both neighbours on the ring, by whom ranks hear of each other that wait for the same
// one; and all whom it told something else before.
void Lateness::spread(const Operation& waiting, const Blame& blame, Peers& peers) {
  const Rank size = peers.size();
  const auto add = [&](Rank peer) {
    if (peer == rank_ || said_.contains(peer)) return;
    tell(peer, {.tag = tag_for(peer, waiting), .missing = blame.missing, .witness = blame.witness}, peers);
  };
  told_.for_each_that_waits(add);
  for (const Rank peer : {(rank_ + 1) % size, (rank_ + size - 1) % size}) {
    if (waiting.context().has(peer)) add(peer);
  }
  const auto now = Deadline::Clock::now();
  for (auto& [peer, said] : said_) {
    const Waiting what{.tag = said.what.tag, .missing = blame.missing, .witness = blame.witness};
    if (what == said.what && now < said.at + telling_interval) continue;
    if (now < said.at + news_interval) {
      next_look_ = earlier(next_look_, Deadline(said.at + news_interval));
    } else {
      tell(peer, what, peers);
    }
  }
}

// Those who share the window over which an operation runs, and do not see there in which call others wait.
void Lateness::tell_members(const Operation& operation, const Blame& blame, Peers& peers) {
  const Window* const window = operation.window();
  if (window == nullptr) return;
  for (std::uint32_t member = 0; member < window->size(); ++member) {
    if (member == window->self()) continue;
    tell(window->rank_of(member), {.tag = operation.tag(), .missing = blame.missing, .witness = blame.witness}, peers);
  }
}

void Lateness::tell(Rank peer, const Waiting& what, Peers& peers) {
  if (Link* const link = peers.made_link(peer)) link->tell_waiting(what);
  said_.insert_or_assign(peer, Said{what, Deadline::Clock::now()});
}

void Lateness::retract(const OperationQueue& queue, Peers& peers) {
  const auto still_waits = [](const OperationQueue::Entry& entry) {
    return entry.operation->has_told() && !entry.operation->complete();
  };
  if (std::ranges::any_of(queue.running(), still_waits) || std::ranges::any_of(queue.searching(), still_waits)) return;
  take_back(peers);
}

void Lateness::take_back(Peers& peers) {
  if (!std::exchange(tells_, false)) return;
  next_look_ = Deadline::never();
  if (lines_) {
    lines_->clear();
  } else {
    listen_behind_messages(false, peers);
  }
  for (const auto& [peer, said] : std::exchange(said_, {})) {
    Link* const link = peers.made_link(peer);
    if (link != nullptr) link->tell_waiting({.tag = said.what.tag, .missing = rank_, .witness = no_rank});
  }
}

Deadline Lateness::next_look(const OperationQueue& queue) const {
  Deadline next = next_look_;
  for (const auto& entry : queue.running()) {
    const Operation& operation = *entry.operation;
    next = earlier(next, operation.next_telling());
    if (!operation.deadline().passed()) next = earlier(next, operation.deadline());
  }
  for (const auto& entry : queue.searching()) next = earlier(next, entry.operation->next_telling());
  return next;
}

Status Lateness::did_not_finish(const Late& late, const Contexts& contexts) const {
  const Operation& operation = *late.operation;
  std::string elsewhere;
  for (const Rank peer : late.missing.peers) {
    const Waiting* const told = told_.told_by(peer);
    if (told == nullptr || !elsewhere.empty()) continue;
    const Tag& tag = told->tag;
    const bool here = tag.communicator == operation.context().number();
    if (here && as_sent(tag.call) == as_sent(operation.signature())) continue;  // both ends of a message wait in it
    elsewhere = fmt::format("; rank {} said that it waits in {}{}", peer, describe(tag.call),
                            here ? "" : " on " + contexts.describe(tag.communicator, peer));
  }
  if (late.culprit != no_rank && std::ranges::find(late.missing.peers, late.culprit) == late.missing.peers.end()) {
    elsewhere += fmt::format("; the chain of waits ends at rank {}", late.culprit);
  }
  return Status(Cause{.code = Code::timeout,
                      .message = fmt::format("{} did not finish before its deadline: still {}{}",
                                             describe(operation.signature()), late.missing.text, elsewhere),
                      .peer = late.culprit});
}

Status Lateness::could_not_begin(const Operation& operation) {
  return Status(Code::timeout, fmt::format("{} could not begin before its deadline: operations before it are not "
                                           "finished",
                                           describe(operation.signature())));
}

}  // namespace hocket
