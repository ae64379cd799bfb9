#include "src/comm/agreeing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/base/caught.hpp"

namespace hocket::comm {
namespace {

using std::chrono_literals::operator""ms;

// Between two looks at who is alive, and while a process is still to be seen though its connection has ended.
constexpr auto look_around = 20ms;
constexpr auto look_closely = 5ms;
// At how many members in turn: it takes a system call or two for each.
constexpr std::size_t looks = 8;
// Between two questions to those that are waited for.
constexpr auto ask_again = 250ms;
// How long a rank that holds the outcome waits to be released, before it leaves somebody behind.
constexpr auto patience_with_release = 100ms;

}  // namespace

Agreeing::Agreeing(const CommunicatorParts& parts, std::shared_ptr<Agreement> agreement, std::function<Status()> broken)
    : standby_(*parts.lineage.standby),
      agreement_(std::move(agreement)),
      broken_(std::move(broken)),
      ranks_(parts.lineage.standby_ranks),
      own_rank_(parts.membership.rank()),
      name_(parts.membership.name()),
      generation_(parts.lineage.generation),
      next_look_(Deadline::after(look_around)),
      next_question_(Deadline::after(look_around)) {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    processes_.emplace(ranks_[rank], parts.membership.peers()[rank].process);
  }
}

Rank Agreeing::rank_of(Rank standby_rank) const {
  return static_cast<Rank>(std::ranges::find(ranks_, standby_rank) - ranks_.begin());
}

// ---- who is dead ----------------------------------------------------------------------------------------------------

bool Agreeing::is_dead(Rank rank, Suspicion suspicion) const {
  return standby_.has_gone(rank, processes_.at(rank), suspicion);
}

// At so many members in turn, and at those who may have just ended.
void Agreeing::look_who_is_dead(std::size_t most) {
  const Status broken = broken_ ? broken_() : Status();
  Rank blamed = no_rank;
  const Suspicion suspicion = suspicion_of(broken);
  if (suspicion != Suspicion::none && broken.cause().peer >= 0 &&
      broken.cause().peer < static_cast<Rank>(ranks_.size())) {
    blamed = ranks_[static_cast<std::size_t>(broken.cause().peer)];
  }
  Ranks looked_at = doubtful();
  if (blamed != no_rank) looked_at.insert(blamed);
  if (agreement_->leader() != standby_.rank()) looked_at.insert(agreement_->leader());
  for (std::size_t i = 0; i < std::min(most, ranks_.size()); ++i) looked_at.insert(ranks_[next_++ % ranks_.size()]);
  for (const Rank rank : looked_at) {
    const bool known = rank == standby_.rank() || agreement_->dead().contains(rank);
    if (!known && is_dead(rank, rank == blamed ? suspicion : Suspicion::none)) agreement_->lost(rank);
  }
  next_look_ = Deadline::after(doubtful().empty() ? look_around : look_closely);
}

// Those whose connections have ended, though they are not known to be dead.
Ranks Agreeing::doubtful() const {
  Ranks doubtful;
  for (const Rank rank : ranks_) {
    if (standby_.ended().contains(rank) && !agreement_->dead().contains(rank)) doubtful.insert(rank);
  }
  return doubtful;
}

// ---- what is said ---------------------------------------------------------------------------------------------------

void Agreeing::send_words() {
  for (auto& [to, word] : agreement_->take_words()) {
    if (word.kind != Word::Kind::excluded) standby_.reach(to);
    standby_.tell(to, std::move(word));
  }
}

void Agreeing::ask() {
  for (const Rank rank : agreement_->awaited()) {
    if (!asked_.insert(rank).second) continue;  // where nobody listens yet, questions would pile up
    standby_.reach(rank);
    standby_.tell(rank, Word{.kind = Word::Kind::ask, .dead = agreement_->dead()});
  }
  next_question_ = Deadline::after(ask_again);
}

void Agreeing::take(const std::vector<News>& news) {
  for (const News& one : news) {
    asked_.erase(one.from);
    if (!one.word) {
      next_look_ = Deadline::after(0ms);
    } else if (one.word->kind == Word::Kind::elsewhere) {
      take_elsewhere(one.from, *one.word);
    } else if (one.word->kind == Word::Kind::given_up) {
      for (const Rank who : one.word->outcome.dead) take_elsewhere(who, *one.word);
    } else {
      agreement_->heard(one.from, *one.word);
    }
  }
}

// One that is in an earlier call is waited for.
void Agreeing::take_elsewhere(Rank who, const Word& word) {
  if (!processes_.contains(who)) return;  // it was left out by an earlier shrink
  const bool has_gone_on = word.generation > generation_;
  if (!has_gone_on && (word.generation < generation_ || !word.shrinks)) return;
  const std::string_view what =
      has_gone_on ? "already uses a communicator that was shrunk from it" : "is in hocket_comm_shrink";
  elsewhere_ = failed(Code::mismatch, who,
                      fmt::format("rank {} of \"{}\" {}, while this rank calls hocket_comm_agree on it; all ranks must "
                                  "make these calls in the same order",
                                  rank_of(who), name_, what));
  why_ = word;
  why_.kind = Word::Kind::given_up;
  why_.outcome.dead = {who};
}

// Those that wait for this rank alone do not hear from that one.
void Agreeing::tell_why() const {
  if (elsewhere_.ok() || agreement_->leader() != standby_.rank()) return;
  for (const Rank rank : ranks_) {
    if (rank != standby_.rank() && !why_.outcome.dead.contains(rank)) standby_.tell(rank, why_);
  }
}

void Agreeing::take_part(Deadline until) {
  take(standby_.await(earlier(until, earlier(next_look_, next_question_))));
  if (next_look_.passed()) look_who_is_dead(looks);
  if (next_question_.passed()) ask();
}

// ---- how it may end -------------------------------------------------------------------------------------------------

Status Agreeing::failed(Code code, Rank peer, const std::string& message) const {
  return Status(Cause{.code = code,
                      .message = message,
                      .rank = own_rank_,
                      .peer = peer == no_rank ? no_rank : rank_of(peer),
                      .operation = "agree"});
}

Status Agreeing::late() const {
  std::vector<Rank> missing;
  for (const Rank rank : agreement_->missing()) missing.push_back(rank_of(rank));
  return failed(
      Code::timeout, missing.empty() ? no_rank : ranks_[static_cast<std::size_t>(missing.front())],
      fmt::format("rank{} {} of \"{}\" did not take part in the agreement, and may be stopped, out of reach or "
                  "in another call; call hocket_comm_agree again to go on waiting, or shrink the communicator",
                  missing.size() == 1 ? "" : "s", fmt::join(missing, ", "), name_));
}

Status Agreeing::failure(Deadline deadline, const std::stop_token& stop) const {
  if (stop.stop_requested()) return failed(Code::aborted, no_rank, "the agreement was given up");
  if (!standby_.shortage().ok()) return standby_.shortage();
  if (agreement_->excluded_by() != no_rank) {
    return failed(
        Code::excluded, standby_.rank(),
        fmt::format("rank {} of \"{}\" is taken for dead by the others, as rank {} says: a connection to it has "
                    "ended, and nobody listened at its port",
                    own_rank_, name_, rank_of(agreement_->excluded_by())));
  }
  if (!elsewhere_.ok()) return elsewhere_;
  return deadline.passed() ? late() : Status();
}

bool Agreeing::may_return(Deadline deadline, const std::stop_token& stop) {
  if (!agreement_->outcome()) return false;
  if (!released_by_) released_by_ = Deadline::after(patience_with_release);
  return agreement_->over() || agreement_->is_left_alone() || released_by_->passed() || deadline.passed() ||
         stop.stop_requested();
}

Status Agreeing::run(Deadline deadline, const std::stop_token& stop) {
  for (const Rank rank : ranks_) {
    if (rank > standby_.rank()) standby_.reach(rank);  // it may dial this one
  }
  if (!broken_().ok()) look_who_is_dead(ranks_.size());
  for (;;) {
    send_words();
    const bool returns = may_return(deadline, stop);
    Status failed = returns ? Status() : failure(deadline, stop);
    if (returns || !failed.ok()) {
      if (!returns) tell_why();
      standby_.flush(Deadline::after(flush_time));
      return failed;
    }
    take_part(released_by_ ? earlier(*released_by_, deadline) : deadline);
  }
}

void Agreeing::attend(Deadline deadline, const std::stop_token& over) {
  broken_ = nullptr;
  try {
    while (!over.stop_requested() && !agreement_->over() && !deadline.passed()) {
      send_words();
      take_part(deadline);
    }
    send_words();
    standby_.flush(Deadline::after(flush_time));
  } catch (...) {  // which may have lost a word
    standby_.leave(caught.status());
  }
}

}  // namespace hocket::comm
