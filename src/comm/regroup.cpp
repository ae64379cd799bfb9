#include "src/comm/regroup.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace hocket::comm {

Regroup::Regroup(Config config) : config_(std::move(config)), gone_(config_.gone), silent_(config_.silent) {
  (void)choose_leader();
  for (const Rank rank : awaited()) {
    if (leads()) tell(rank, {.kind = Note::Kind::call});
  }
  gather();
}

// ---- who leads ------------------------------------------------------------------------------------------------------

bool Regroup::expected(Rank rank) const {
  return rank != config_.self && !gone_.contains(rank) && !config_.blamed.contains(rank) && !silent_.contains(rank);
}

bool Regroup::may_lead(Rank rank) const {
  return rank == config_.self || expected(rank);
}

// Whether that is another one than before.
bool Regroup::choose_leader() {
  const Rank leader = *std::ranges::find_if(config_.members, [&](Rank rank) { return may_lead(rank); });
  if (leader_ == leader) return false;
  if (leader_ != no_rank && leader_ != config_.self && !gone_.contains(leader_)) {
    tell(leader_, {.kind = Note::Kind::leave});
  }
  leader_ = leader;
  ++steps_;
  return true;
}

// Begins anew: the leader waits for those who come, the others come to it.
void Regroup::gather() {
  leader_waits_ = false;
  wish_ = Wish::wait;
  const std::uint64_t given_up = std::exchange(group_, 0);
  // A leader's patience does not begin anew with each rank that comes: those that have come wait for it, too.
  if (!leads() || given_up != 0) ++steps_;
  if (leads()) {
    decide();
  } else {
    tell(leader_, {.kind = Note::Kind::come, .group = given_up, .ranks = gone_, .attempts = attempts_[config_.self]});
  }
}

Ranks Regroup::awaited() const {
  if (!leads()) return {leader_};
  Ranks awaited;
  for (const Rank rank : config_.members) {
    const bool heard = group_ == 0 ? came_.contains(rank) : cards_.contains(rank) || !chosen_.contains(rank);
    if (expected(rank) && !heard) awaited.insert(rank);
  }
  return awaited;
}

// ---- the leader's decision ------------------------------------------------------------------------------------------

// Of those who may be alive. Of two halves, the one with the lowest rank.
bool Regroup::is_majority(const Ranks& chosen, const Ranks& of) const {
  std::size_t alive = 0, there = 0;
  bool has_lowest = false;
  for (const Rank rank : of) {
    if (gone_.contains(rank) || (!config_.separable && config_.blamed.contains(rank))) continue;
    if (alive++ == 0) has_lowest = chosen.contains(rank);
    there += chosen.contains(rank) ? 1 : 0;
  }
  return 2 * there > alive || (2 * there == alive && (has_lowest || alive == 0));
}

bool Regroup::may_go_on(const Ranks& chosen) const {
  if (!config_.majority) return true;
  return is_majority(chosen, config_.members) && std::ranges::all_of(attempts_, [&](const auto& of_one) {
           const auto& [rank, attempts] = of_one;
           if (!chosen.contains(rank)) return true;
           return attempts.size() <= Note::attempts_max &&
                  std::ranges::all_of(attempts, [&](const Ranks& one) { return is_majority(chosen, one); });
         });
}

void Regroup::decide() {
  if (!awaited().empty()) return;
  Ranks chosen = came_;
  chosen.insert(config_.self);
  if (!may_go_on(chosen)) return;
  begin_group(config_.draw_group(), chosen);
  for (const Rank rank : chosen_) {
    if (rank != config_.self) tell(rank, {.kind = Note::Kind::members, .group = group_, .ranks = chosen_});
  }
}

void Regroup::begin_group(std::uint64_t group, const Ranks& members) {
  ++steps_;
  group_ = group;
  chosen_ = members;
  cards_.clear();
  wish_ = Wish::open;
}

void Regroup::opened(std::string card) {
  ++steps_;
  wish_ = Wish::wait;
  if (leads()) {
    cards_[config_.self] = std::move(card);
    hand_out_cards();
  } else {
    tell(leader_, {.kind = Note::Kind::card, .group = group_, .cards = {std::move(card), ""}});
  }
}

void Regroup::hand_out_cards() {
  if (cards_.size() != chosen_.size()) return;
  for (auto at = cards_.begin(); at != cards_.end(); ++at) {
    const auto after = std::next(at) == cards_.end() ? cards_.begin() : std::next(at);
    const auto before = at == cards_.begin() ? std::prev(cards_.end()) : std::prev(at);
    std::array<std::string, 2> neighbours = {after->second, before->second};
    if (at->first == config_.self) {
      neighbours_ = std::move(neighbours);
    } else {
      tell(at->first, {.kind = Note::Kind::neighbours, .group = group_, .cards = std::move(neighbours)});
    }
  }
  wish_ = Wish::make;
}

// ---- what happens ---------------------------------------------------------------------------------------------------

void Regroup::heard(Rank from, const Note& note) {
  if (!config_.members.contains(from) || from == config_.self) return;
  const bool of_leader = from == leader_ && wish_ != Wish::done && wish_ != Wish::excluded;
  switch (note.kind) {
    case Note::Kind::call:
      if (of_leader) gather();
      break;
    case Note::Kind::come: take_come(from, note); break;
    case Note::Kind::patience:
      if (of_leader) leader_waits_ = true, ++steps_;
      break;
    case Note::Kind::leave:
      came_.erase(from);
      if (leads() && chosen_.contains(from) && group_ != 0 && wish_ != Wish::done) gather();
      break;
    case Note::Kind::members:
      if (of_leader && note.ranks.contains(config_.self)) begin_group(note.group, note.ranks);
      break;
    case Note::Kind::card: take_card(from, note); break;
    case Note::Kind::neighbours:
      if (!of_leader || note.group != group_ || wish_ != Wish::wait) break;
      neighbours_ = note.cards;
      wish_ = Wish::make;
      break;
    case Note::Kind::excluded:
      if (wish_ == Wish::done) break;
      other_ = from;
      wish_ = Wish::excluded;
      break;
  }
}

// A rank that comes while a group is under way has given that one up, or is late: all begin anew. But not where it is
// yet to hear of that group.
void Regroup::take_come(Rank from, const Note& note) {
  const bool too_late = wish_ == Wish::done && !chosen_.contains(from);
  if (too_late || config_.blamed.contains(from)) return tell(from, {.kind = Note::Kind::excluded});
  if (wish_ == Wish::done || wish_ == Wish::excluded) return;
  silent_.erase(from);
  gone_.erase(from);  // another rank was wrong, or ahead of this one
  came_.insert(from);
  attempts_[from] = note.attempts;
  for (const Rank rank : note.ranks) {
    if (rank != config_.self && config_.members.contains(rank) && !came_.contains(rank)) gone_.insert(rank);
  }
  const bool other_leader = choose_leader();
  const bool will_hear = leads() && group_ != 0 && chosen_.contains(from) && note.group != group_;
  if (leads()) tell(from, {.kind = Note::Kind::patience});
  if ((leads() && !will_hear) || other_leader) gather();
}

void Regroup::take_card(Rank from, const Note& note) {
  if (!leads() || group_ == 0 || note.group != group_ || !chosen_.contains(from)) return;
  if (wish_ != Wish::wait && wish_ != Wish::open) return;
  ++steps_;
  cards_[from] = note.cards[0];
  if (cards_.contains(config_.self)) hand_out_cards();
}

void Regroup::lost(Rank peer) {
  if (!config_.members.contains(peer) || !gone_.insert(peer).second || wish_ == Wish::done || wish_ == Wish::excluded)
    return;
  came_.erase(peer);
  const bool matters = leads() && (group_ == 0 || chosen_.contains(peer));
  if (choose_leader() || matters) gather();
}

void Regroup::out_of_reach(Rank peer) {
  if (!config_.members.contains(peer) || gone_.contains(peer) || wish_ == Wish::done || wish_ == Wish::excluded) return;
  silent_.insert(peer);
  came_.erase(peer);
  const bool matters = leads() && (group_ == 0 || chosen_.contains(peer));
  if (choose_leader() || matters) gather();
}

void Regroup::out_of_patience() {
  ++steps_;
  if (wish_ != Wish::wait) return;
  for (const Rank rank : awaited()) {
    silent_.insert(rank);
    came_.erase(rank);
  }
  if (choose_leader() || leads()) gather();
}

void Regroup::made(bool ok, Rank missing) {
  if (ok) {
    wish_ = Wish::done;
    for (const Rank rank : config_.members) {
      if (!chosen_.contains(rank) && !gone_.contains(rank)) tell(rank, {.kind = Note::Kind::excluded});
    }
    return;
  }
  attempts_[config_.self].insert(chosen_);
  for (const Rank rank : chosen_) came_.erase(rank);
  if (missing != no_rank && missing != config_.self) silent_.insert(missing);
  (void)choose_leader();
  gather();
}

std::string Regroup::describe() const {
  return fmt::format(
      "rank {} follows {}{}, does {}; gone {}, silent {}, came {}, tried {}; group {} of {} with {} and {}",
      config_.self, leader_, leader_waits_ ? " patiently" : "", static_cast<int>(wish_), gone_, silent_, came_,
      attempts_, group_, chosen_, cards_, neighbours_);
}

}  // namespace hocket::comm
