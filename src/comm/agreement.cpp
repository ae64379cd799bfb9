#include "src/comm/agreement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

namespace hocket::comm {

Agreement::Agreement(Rank self, Ranks members, const Ranks& dead, std::uint64_t flag)
    : self_(self), members_(std::move(members)), flag_(flag) {
  bury(dead);
  if (leader_ == no_rank) (void)choose_leader(), follow();
}

// ---- who leads ------------------------------------------------------------------------------------------------------

// Dead ranks are forgotten, votes and all, so that an outcome has the flags of exactly those that it does not call
// dead.
void Agreement::bury(const Ranks& dead) {
  bool news = false;
  for (const Rank rank : dead) {
    if (rank == self_ || !members_.contains(rank) || !dead_.insert(rank).second) continue;
    votes_.erase(rank);
    news = true;
  }
  if (!news) return;
  if (choose_leader()) {
    follow();
  } else {
    lead();
  }
}

bool Agreement::choose_leader() {
  const Rank leader = *std::ranges::find_if(members_, [&](Rank rank) { return !dead_.contains(rank); });
  if (leader != leader_) leader_awaits_.clear();
  return std::exchange(leader_, leader) != leader;
}

void Agreement::follow() {
  if (leads()) {
    lead();
  } else if (!over_) {
    tell(leader_, Word::Kind::vote);
  }
}

// ---- the leader -----------------------------------------------------------------------------------------------------

bool Agreement::has_from_all(const Ranks& ranks) const {
  return std::ranges::all_of(members_,
                             [&](Rank rank) { return rank == self_ || dead_.contains(rank) || ranks.contains(rank); });
}

void Agreement::lead() {
  if (!leads() || over_) return;
  if (phase_ == Phase::gather && !outcome_) {
    Ranks voters;
    for (const auto& [rank, flag] : votes_) voters.insert(rank);
    if (!has_from_all(voters)) return;
    propose();
  }
  if (phase_ == Phase::propose && !outcome_ && has_from_all(answered_)) outcome_ = accepted_;
  if (outcome_ && phase_ != Phase::commit) {
    phase_ = Phase::commit;
    answered_.clear();
    tell_all(Word::Kind::commit);
  }
  if (phase_ == Phase::commit && has_from_all(answered_)) {
    over_ = true;
    tell_all(Word::Kind::release);
  }
}

void Agreement::propose() {
  if (!accepted_) {
    accepted_ = {.flag = flag_, .dead = dead_};
    for (const auto& [rank, flag] : votes_) accepted_->flag &= flag;
  }
  phase_ = Phase::propose;
  answered_.clear();
  tell_all(Word::Kind::propose);
}

Word Agreement::word(Word::Kind kind) const {
  return {.kind = kind,
          .flag = flag_,
          .dead = dead_,
          .is_final = outcome_.has_value(),
          .outcome = outcome_ ? *outcome_ : accepted_.value_or(Outcome())};
}

void Agreement::tell_all(Word::Kind kind) {
  for (const Rank rank : members_) {
    if (rank != self_ && !dead_.contains(rank)) tell(rank, kind);
  }
}

// ---- what happens ---------------------------------------------------------------------------------------------------

void Agreement::heard(Rank from, const Word& word) {
  if (!members_.contains(from) || from == self_) return;
  if (word.kind == Word::Kind::excluded || word.dead.contains(self_)) {
    excluded_by_ = from;
    return;
  }
  if (dead_.contains(from)) return tell(from, Word::Kind::excluded);
  bury(word.dead);
  switch (word.kind) {
    case Word::Kind::vote: take_vote(from, word); break;
    case Word::Kind::propose:
      if (from != leader_) break;
      accepted_ = word.outcome;
      tell(from, Word::Kind::accept);
      break;
    case Word::Kind::accept:
      if (phase_ == Phase::propose) answered_.insert(from);
      lead();
      break;
    case Word::Kind::commit: take_commit(from, word); break;
    case Word::Kind::committed:
      if (phase_ == Phase::commit) answered_.insert(from);
      lead();
      break;
    case Word::Kind::release:
      outcome_ = word.outcome;
      over_ = true;
      break;
    case Word::Kind::ask:
      tell(from, Word::Kind::waits);
      words_.back().second.outcome.dead = leads() ? awaited() : Ranks();
      break;
    case Word::Kind::waits:
      if (from != leader_) break;
      leader_awaits_.clear();
      std::ranges::set_intersection(word.outcome.dead, members_, std::inserter(leader_awaits_, leader_awaits_.end()));
      break;
    case Word::Kind::excluded:
    case Word::Kind::elsewhere:
    case Word::Kind::given_up: break;
  }
}

// One that votes again has done something else meanwhile, and may have missed what it was told.
void Agreement::take_vote(Rank from, const Word& word) {
  votes_[from] = word.flag;
  if (word.is_final) outcome_ = word.outcome;
  const bool is_new = phase_ == Phase::gather;
  lead();
  if (is_new || !leads() || answered_.contains(from)) return;
  tell(from, phase_ == Phase::propose ? Word::Kind::propose : Word::Kind::commit);
}

void Agreement::take_commit(Rank from, const Word& word) {
  if (!outcome_) committed_by_ = from;
  outcome_ = word.outcome;
  tell(from, Word::Kind::committed);
  lead();
}

void Agreement::lost(Rank peer) {
  if (dead_.contains(peer)) return;
  const Rank before = leader_;
  bury({peer});
  if (before == leader_) follow();  // the leader may be unable to see it
}

void Agreement::come_again(std::uint64_t flag) {
  flag_ = flag;
  if (!leads() || phase_ == Phase::gather) return follow();
  for (const Rank rank : awaited()) {
    tell(rank, phase_ == Phase::propose ? Word::Kind::propose : Word::Kind::commit);
  }
}

Ranks Agreement::awaited() const {
  if (over_) return {};
  if (!leads()) return {leader_};
  Ranks awaited;
  for (const Rank rank : members_) {
    const bool heard = phase_ == Phase::gather ? votes_.contains(rank) : answered_.contains(rank);
    if (rank != self_ && !dead_.contains(rank) && !heard) awaited.insert(rank);
  }
  return awaited;
}

Ranks Agreement::missing() const {
  Ranks missing = leads() ? awaited() : leader_awaits_;
  missing.erase(self_);
  return missing.empty() ? awaited() : missing;
}

std::string Agreement::describe() const {
  std::string text = fmt::format("{} follows {} dead {}", self_, leader_, dead_);
  const auto show = [&](const char* what, const Outcome& outcome) {
    text += fmt::format(" {} {:x} {}", what, outcome.flag, outcome.dead);
  };
  if (accepted_) show("accepted", *accepted_);
  if (outcome_) show("holds", *outcome_);
  return text + fmt::format(" by {} over {} excluded {} phase {} answered {} votes {}", committed_by_, over_,
                            excluded_by_, static_cast<int>(phase_), answered_, votes_);
}

}  // namespace hocket::comm
