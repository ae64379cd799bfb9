#include "src/comm/rendezvous.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/store/keys.hpp"

namespace hocket::comm {

using Holder = Places::Holder;

Status Rendezvous::lost(Rank rank) {
  return Status(
      Cause{.code = Code::peer_lost,
            .message = fmt::format("rank {} is gone: its process ended while the ranks met; see its output", rank),
            .peer = rank});
}

std::string Rendezvous::key(std::uint64_t epoch, std::string_view name) const {
  return fmt::format("{}/{}/{}", options_.name, epoch, name);
}

std::string Rendezvous::card_key(Rank rank) const {
  return key(epoch_.number, fmt::format("card/{}", rank));
}

std::string Rendezvous::epoch_key() const {
  return options_.name + "/epoch";
}

Result<std::unique_ptr<Rendezvous>> Rendezvous::join(Store& store, const Options& options, Deadline deadline,
                                                     std::stop_token stop, std::uint64_t token, Visit* visit) {
  std::unique_ptr<Rendezvous> rendezvous(new Rendezvous(store, options, deadline, std::move(stop), token, visit));
  const Status status = options.rank == 0 ? rendezvous->lead() : rendezvous->follow();
  if (!status.ok()) return rendezvous->explained(status);
  return rendezvous;
}

Result<Epoch> Rendezvous::current_epoch(Deadline deadline) const {
  const auto text = store_.peek(epoch_key(), deadline);
  if (!text.ok()) return text.status();
  if (!*text) return Epoch{};
  if (auto epoch = Epoch::parse(**text)) return *epoch;
  return Status(Code::protocol_error, fmt::format("the store {} holds {} as the epoch of job \"{}\": something else "
                                                  "writes there; use a store of Hocket's alone",
                                                  store_.url(), store::in_quotes(**text), options_.name));
}

Result<std::optional<Verdict>> Rendezvous::verdict_of(std::uint64_t epoch) const {
  const auto text = store_.peek(key(epoch, "verdict"), deadline_);
  if (!text.ok()) return text.status();
  return *text ? std::optional<Verdict>(Verdict::parse(**text)) : std::nullopt;
}

Status Rendezvous::taken_by(const Places::Standing& holder) const {
  return Status(Cause{.code = Code::rank_taken,
                      .message = fmt::format("rank {} of job \"{}\" is taken by {} in {}: give each process a rank of "
                                             "its own, and jobs that run at the same time different names (HOCKET_JOB)",
                                             options_.rank, options_.name, holder.process, store_.url()),
                      .peer = options_.rank});
}

Result<Places::Standing> Rendezvous::take_place(std::uint64_t epoch) {
  const std::string verdict = key(epoch, "verdict"), will = Verdict::failed(lost(options_.rank));
  return places_.take(epoch, options_.rank, has_met_ ? Bequest() : Bequest{.key = verdict, .value = will}, deadline_);
}

// The place in the next epoch is taken first, so that an epoch never lacks its rank 0 while that lives.
Status Rendezvous::lead() {
  for (;;) {
    const auto before = current_epoch(deadline_);
    if (!before.ok()) return before.status();
    if (Status closed = close_epoch_before(*before); !closed.ok()) return closed;
    const Epoch next{.number = before->number + 1,
                     .size = options_.size,
                     .group = random_number(),
                     .leader = ProcessIdentity::own()};
    const auto place = take_place(next.number);
    if (!place.ok()) return place.status();
    if (place->holder == Holder::another) return taken_by(*place);
    if (place->holder == Holder::this_creation) {
      // Of a rank 0 that ended between the same two steps.
      if (store_.claims_end_with_owner()) (void)store_.remove(key(next.number, "verdict"), deadline_);
      const std::string expected = before->serialise();
      const auto found = store_.compare_and_set(
          epoch_key(), before->number > 0 ? std::optional<std::string_view>(expected) : std::nullopt, next.serialise(),
          deadline_);
      if (!found.ok()) return found.status();
      if (before->number > 0 ? *found == expected : !*found) {
        epoch_ = next;
        if (before->number > 1) (void)store_.remove(key(before->number - 1, "verdict"), deadline_);
        return {};
      }
      places_.release(deadline_);
    }
    if (Status status = look_around(); !status.ok()) return status;
    pause();
  }
}

// Waits for another creation of this process to end, and closes what a rank 0 that is gone has left open.
Status Rendezvous::close_epoch_before(const Epoch& before) {
  if (before.number == 0) return {};
  const auto verdict = verdict_of(before.number);
  if (!verdict.ok()) return verdict.status();
  if (*verdict) return {};
  const auto leader = places_.look(before.number, 0, deadline_);
  if (!leader.ok()) return leader.status();
  if (leader->holder == Holder::another) return taken_by(*leader);
  if (leader->holder == Holder::this_process) return wait_for(key(before.number, "verdict"), before.number);
  return store_.compare_and_set(key(before.number, "verdict"), std::nullopt, Verdict::superseded(), deadline_).status();
}

Status Rendezvous::follow() {
  for (std::uint64_t closed = 0;;) {
    if (visit_ != nullptr) visit_->epoch = closed + 1;
    const auto next = epoch_after(closed);
    if (!next.ok()) return next.status();
    if (visit_ != nullptr) visit_->epoch = next->number;
    const auto other_size = is_of_other_size_and_gathers(*next);
    if (!other_size.ok()) return other_size.status();
    if (*other_size) {
      epoch_ = *next;
      return fail(Status(Code::mismatch,
                         fmt::format("rank {} was started with world size {}, but another rank of job \"{}\" with {}: "
                                     "give all ranks the same WORLD_SIZE",
                                     options_.rank, options_.size, options_.name, next->size)));
    }
    closed = next->number;
    if (next->size != options_.size) continue;
    const auto place = take_place(next->number);
    if (!place.ok()) return place.status();
    // An epoch that was closed before this rank had its place does without it.
    const auto verdict = verdict_of(next->number);
    if (!verdict.ok()) return verdict.status();
    if (*verdict) {
      places_.release(deadline_);
      if ((*verdict)->kind != Verdict::Kind::failed) continue;
      if (Status late = come_too_late(closed, (*verdict)->why); !late.ok()) return late;
      continue;
    }
    if (place->holder == Holder::another) return taken_by(*place);
    if (place->holder == Holder::this_creation) {
      epoch_ = *next;
      leader_lived_ = epoch_.leader.is_alive() == true;
      return {};
    }
    // Another creation of this process is in this epoch: this one is for the next.
    if (Status ended = wait_for(key(next->number, "verdict"), next->number); !ended.ok()) return ended;
    closed = next->number - 1;
  }
}

// Ok where this rank is to wait for the next epoch: also where it stands in for the one that has died, or creates again
// what it has been told of.
Status Rendezvous::come_too_late(std::uint64_t epoch, const Status& why) {
  if (visit_ == nullptr) return {};
  if (visit_->rank_0_serves && (why.code() != Code::peer_lost || why.cause().peer != options_.rank)) {
    const auto news = is_news(epoch, deadline_);
    if (!news.ok()) return news.status();
    return *news ? why : Status();
  }
  visit_->missed = why;
  return {};
}

// Whether this rank has not been told yet that the epoch failed. From now on it has.
Result<bool> Rendezvous::is_news(std::uint64_t epoch, Deadline deadline) {
  const auto told =
      store_.compare_and_set(key(epoch, fmt::format("told/{}", options_.rank)), std::nullopt, "", deadline);
  if (!told.ok()) return told.status();
  return !told->has_value();
}

// Waits for an epoch with a higher number, which begins with the place of its rank 0.
Result<Epoch> Rendezvous::epoch_after(std::uint64_t number) {
  for (;;) {
    auto current = current_epoch(deadline_);
    if (!current.ok() || current->number > number) return current;
    const bool first = current->number == 0;
    if (Status begins = wait_for(first ? epoch_key() : places_.key(number + 1, 0), number); !begins.ok()) return begins;
    if (!first) pause();  // it is about to be announced, or its rank 0 has died just now
  }
}

// Another size counts while somebody stands for it: the rank 0 that opened the epoch.
Result<bool> Rendezvous::is_of_other_size_and_gathers(const Epoch& epoch) {
  if (epoch.size == options_.size) return false;
  const auto verdict = verdict_of(epoch.number);
  if (!verdict.ok()) return verdict.status();
  if (*verdict) return false;
  const auto leader = places_.look(epoch.number, 0, deadline_);
  if (!leader.ok()) return leader.status();
  return leader->holder != Holder::nobody;
}

Result<std::vector<PeerInfo>> Rendezvous::exchange(const PeerInfo& mine, const std::vector<Rank>& wanted) {
  const std::string card = fmt::format("{}\n{}", places_.token(), mine.serialise());
  published_ = true;
  auto gathered = gather(card, wanted);
  if (!gathered.ok()) return explained(gathered.status());
  const Verdict verdict = Verdict::parse(gathered->outcome);
  if (verdict.kind == Verdict::Kind::failed) return verdict.why;
  if (verdict.kind == Verdict::Kind::superseded) return begun_anew();
  std::vector<PeerInfo> infos;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    auto info = parse_card(wanted[i], gathered->values[i]);
    if (!info.ok()) return info.status();
    infos.push_back(std::move(*info));
  }
  if (options_.meeting) return infos;  // a store that a rank serves ends with that, and so does the meeting
  auto keeper = Attendant::start([this, card](const std::stop_token& stop) { keep_saying(card, stop); });
  if (!keeper.ok()) return keeper.status();
  keeper_ = std::move(*keeper);
  return infos;
}

Result<PeerInfo> Rendezvous::parse_card(Rank rank, const std::optional<std::string>& card) const {
  if (card) return PeerInfo::parse(std::string_view(*card).substr(std::min(card->size(), card->find('\n') + 1)));
  const auto verdict = verdict_of(epoch_.number);
  if (verdict.ok() && *verdict && (*verdict)->kind == Verdict::Kind::failed) return (*verdict)->why;
  return lost(rank);
}

void Rendezvous::finish() {
  keeper_.reset();
  if (store_.claims_end_with_owner()) return;  // they go with the connection
  const Deadline soon = earlier(deadline_, Deadline::after(std::chrono::milliseconds(250)));
  if (published_) (void)store_.remove(card_key(options_.rank), soon);
  places_.release(soon);
}

Status Rendezvous::fail(const Status& why) {
  keeper_.reset();
  const Deadline soon = Deadline::after(std::chrono::milliseconds(250));
  std::optional<Status> first;  // of those that another rank has told
  // If the store is lost, or rank 0 begins anew, this rank comes again.
  if (why.code() != Code::store_unreachable && !superseded_ && epoch_.number > 0) {
    const std::string verdict = key(epoch_.number, "verdict");
    auto before = store_.compare_and_set(verdict, std::nullopt, Verdict::failed(why), soon);
    if (before.ok() && *before == Verdict::complete()) {
      before = store_.compare_and_set(verdict, Verdict::complete(), Verdict::failed(why), soon);
    }
    if (before.ok() && *before) {
      const Verdict told = Verdict::parse(**before);
      if (told.kind == Verdict::Kind::failed) first = told.why;
    }
    if (visit_ != nullptr && visit_->rank_0_serves) (void)is_news(epoch_.number, soon);
  }
  finish();
  const bool lost_others = why.code() == Code::peer_lost || why.code() == Code::timeout;
  return first && lost_others ? *first : why;
}

}  // namespace hocket::comm
