// The waits of a rendezvous: for everyone's card, what a rank looks at meanwhile, and what it says again to a store
// whose daemon was lost and has come back.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <thread>
#include <utility>

#include "src/base/log.hpp"
#include "src/comm/attendant.hpp"
#include "src/comm/rendezvous.hpp"

namespace hocket::comm {
namespace {

constexpr std::chrono::milliseconds look_around_every{250};
constexpr std::chrono::seconds warn_every{10};
constexpr std::size_t listed_max = 16;
constexpr std::chrono::milliseconds look_at_connection_every{200};  // while ranks connect to each other
constexpr std::chrono::seconds one_attempt{1};                      // to say again what was said, meanwhile

// Of the creation that wrote the card.
std::uint64_t token_of(std::string_view card) {
  std::uint64_t token = 0;
  (void)std::from_chars(card.data(), card.data() + card.size(), token);
  return token;
}

}  // namespace

void Rendezvous::pause() const {
  std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(std::chrono::milliseconds(20), deadline_.remaining()));
}

Status Rendezvous::wait_for(const std::string& key, std::uint64_t epoch) {
  if (Status status = look_around(); !status.ok()) return status;
  bool later = false;
  const Status waited = store_.await(key, deadline_, look_around_after(epoch, later)).status();
  if (later) return {};
  return waited.code() == Code::timeout ? timed_out() : waited;
}

// The key may have come and gone before the wait for it began: what remains of that is a later epoch. A server holds
// this wait by now and tells of all that comes after, so that one look is enough, and none where this rank leads: no
// other leads while it lives.
LookAround Rendezvous::look_around_after(std::uint64_t epoch, bool& later) {
  return [this, epoch, &later, looked = false]() mutable -> Status {
    if (Status status = look_around(); !status.ok()) return status;
    const bool served = store_.claims_end_with_owner();
    const bool leads = options_.rank == 0 && epoch_.number > 0;
    if (served && (looked || leads)) return {};
    const auto current = current_epoch(served ? earlier(deadline_, Deadline::after(look_around_every)) : deadline_);
    if (served && !current.ok() && store_.connection().ok()) return {};  // it answers late: the next look asks again
    if (!current.ok()) return current.status();
    looked = true;
    later = current->number > epoch || (epoch_.number > 0 && current->group != epoch_.group);
    return later ? Status(Code::aborted, "a later epoch has begun") : Status();
  };
}

// Waits until everyone's card is there, or somebody has said why that will not be.
Result<Allgathered> Rendezvous::gather(const std::string& card, const std::vector<Rank>& wanted) {
  const std::string prefix = key(epoch_.number, "card/"), verdict = key(epoch_.number, "verdict");
  const std::string complete = Verdict::complete();
  const Allgather mine{.prefix = prefix,
                       .member = options_.rank,
                       .members = options_.size,
                       .value = card,
                       .outcome = verdict,
                       .complete = complete,
                       .wanted = wanted};
  for (bool lost = false;;) {
    bool later = false;
    const LookAround look = look_around_after(epoch_.number, later);
    auto gathered = store_.allgather(mine, deadline_, look,
                                     [this](const std::vector<std::string>& cards) { return expect_all_alive(cards); });
    // Where the verdict came just then, a later epoch is that of another creation.
    if (later && !gathered.ok()) {
      const auto said = verdict_of(epoch_.number);
      if (!said.ok()) return said.status();
      if (!*said) return begun_anew();
      continue;
    }
    // The daemon may have kept the verdict and not the cards, which the others say again.
    const bool lacks_cards = lost && gathered.ok() && gathered->outcome == complete &&
                             !std::ranges::all_of(gathered->values, &std::optional<std::string>::has_value);
    if (lacks_cards) {
      const Status seen = look();
      if (later) return begun_anew();
      if (!seen.ok()) return seen;
      pause();
      continue;
    }
    if (gathered.ok() || gathered.status().code() != Code::store_unreachable || options_.meeting) return gathered;
    if (Status back = say_again(); !back.ok()) return back.code() == Code::unsupported ? gathered.status() : back;
    lost = true;
  }
}

Status Rendezvous::begun_anew() {
  superseded_ = true;
  return {Code::aborted, fmt::format("rank 0 of job \"{}\" began anew while others waited for it", options_.name)};
}

// In a store that cannot see who is gone: the card of each rank must be that of its place's holder, who must not be
// known to have ended.
Status Rendezvous::expect_all_alive(const std::vector<std::string>& cards) const {
  for (Rank rank = 1; rank < options_.size; ++rank) {
    const auto place = store_.peek(places_.key(epoch_.number, rank), deadline_);
    if (!place.ok()) return place.status();
    const auto claim = *place ? Claim::parse(**place) : std::nullopt;
    const bool ended = !claim || claim->process.is_alive() == false;
    if (!ended && claim->token == token_of(cards[static_cast<std::size_t>(rank)])) continue;
    return {Code::timeout, fmt::format("rank {} is not there yet", rank)};
  }
  return {};
}

// Is it worth to wait on?
Status Rendezvous::look_around() {
  if (stop_.stop_requested()) {
    return {Code::aborted, fmt::format("rank {} gave up waiting for the others", options_.rank)};
  }
  if (Status status = watched_(); !status.ok()) return status;
  if (deadline_.passed()) return timed_out();
  if (Status status = places_.beat(deadline_); !status.ok()) return status;
  // A server tells by the verdict, at once.
  if (epoch_.number > 0 && !store_.claims_end_with_owner()) {
    if (Status status = look_after_others(); !status.ok()) return status;
  }
  if (warned_.passed()) {
    warned_ = Deadline::after(warn_every);
    log::warn(describe_wait("waits"));
  }
  return {};
}

Status Rendezvous::look_after_others() {
  if (options_.rank != 0) return leader_lived_ && epoch_.leader.is_alive() == false ? lost(0) : Status();
  for (Rank rank = 1; rank < options_.size; ++rank) {
    auto holder = holders_.find(rank);
    if (holder == holders_.end()) {
      const auto place = store_.peek(places_.key(epoch_.number, rank), deadline_);
      if (!place.ok()) return place.status();
      const auto claim = *place ? Claim::parse(**place) : std::nullopt;
      if (!claim) continue;
      holder = holders_.emplace(rank, claim->process).first;
    }
    if (holder->second.is_alive() == false) return lost(rank);
  }
  return {};
}

Status Rendezvous::timed_out() const {
  const auto missing = missing_ranks();
  const bool came_late = visit_ != nullptr && visit_->missed;
  return Status(Cause{.code = Code::timeout,
                      .message = describe_wait("waited in vain") +
                                 (came_late ? "; a meeting before had failed: " + visit_->missed->message() : ""),
                      .peer = missing.ok() && !missing->empty() ? missing->front().rank : no_rank});
}

Status Rendezvous::explained(const Status& status) const {
  return status.code() == Code::timeout && status.cause().peer == no_rank && deadline_.passed() ? timed_out() : status;
}

std::string Rendezvous::describe_wait(std::string_view waits) const {
  const std::string who = fmt::format("rank {} {}", options_.rank, waits);
  if (epoch_.number == 0 && options_.rank == 0) {
    return fmt::format("{} for another creation of its process under the name \"{}\"", who, options_.name);
  }
  const auto missing = missing_ranks();
  if (!missing.ok()) return fmt::format("{} for the others in {}: {}", who, store_.url(), missing.status().message());
  std::string text;
  for (std::size_t i = 0; i < std::min(missing->size(), listed_max); ++i) {
    const auto& [rank, ended] = (*missing)[i];
    text += fmt::format("{}{}{}", i == 0 ? "rank " : ", ", rank, ended.empty() ? "" : " (" + ended + " has ended)");
  }
  if (missing->size() > listed_max) text += fmt::format(" and {} more", missing->size() - listed_max);
  return fmt::format("{} for the others in {}: missing {}", who, store_.url(),
                     missing->empty() ? "none any more" : text);
}

// Those whose process is known to have ended come first.
Result<std::vector<Rendezvous::Missing>> Rendezvous::missing_ranks() const {
  const Deadline soon = Deadline::after(look_around_every);
  if (epoch_.number == 0) return std::vector<Missing>{{.rank = 0, .ended = {}}};
  const auto keys = store_.list(key(epoch_.number, "card/"), soon);
  if (!keys.ok() && keys.status().code() != Code::unsupported) return keys.status();
  std::vector<Missing> missing;
  for (Rank rank = 0; rank < options_.size; ++rank) {
    const std::string name = card_key(rank);
    const auto found = keys.ok() ? Result<std::optional<std::string>>(std::nullopt) : store_.peek(name, soon);
    // Of a store that cannot list its keys; late, all count as there.
    const bool there = keys.ok() ? std::ranges::binary_search(*keys, name) : !found.ok() || found->has_value();
    if (rank == options_.rank || (there && store_.claims_end_with_owner())) continue;
    const auto place = missing.size() < listed_max ? store_.peek(places_.key(epoch_.number, rank), soon)
                                                   : Result<std::optional<std::string>>(std::nullopt);
    const auto claim = place.ok() && *place ? Claim::parse(**place) : std::nullopt;
    const bool ended = claim && claim->process.is_alive() == false;
    if (!there || ended) missing.push_back({.rank = rank, .ended = ended ? claim->process.describe() : ""});
  }
  std::ranges::stable_partition(missing, [](const Missing& one) { return !one.ended.empty(); });
  return missing;
}

// ---- after the daemon was lost

Status Rendezvous::say_again() {
  if (Status connected = store_.reconnect(deadline_, stop_); !connected.ok()) return connected;
  // Before the epoch: whoever finds that finds these.
  for (const auto& [key, value] : said_) {
    const auto found = store_.compare_and_set(key, std::nullopt, value, deadline_);
    if (!found.ok()) return found.status();
    if (*found && *found != value) return begun_anew();  // others did before, without this rank
  }
  if (Status epoch = say_epoch_again(); !epoch.ok()) return epoch;
  const auto place = take_place(epoch_.number);
  if (!place.ok()) return place.status();
  return place->holder == Places::Holder::this_creation ? Status() : taken_by(*place);
}

Status Rendezvous::say_epoch_again() {
  for (;;) {
    const auto current = current_epoch(deadline_);
    if (!current.ok()) return current.status();
    if (current->group == epoch_.group) return {};
    // What the daemon held a while ago may be an older epoch, without its rank 0. A living rank 0 has begun anew.
    if (current->number >= epoch_.number) return begun_anew();
    if (current->number > 0) {
      const auto leader = places_.look(current->number, 0, deadline_);
      if (!leader.ok()) return leader.status();
      if (leader->holder != Places::Holder::nobody) return begun_anew();
      // Some rank may have joined it meanwhile, or wait for the one after it, which there will not be.
      for (const auto& [name, value] : {std::pair(key(current->number, "verdict"), Verdict::superseded()),
                                        std::pair(places_.key(current->number + 1, 0), std::string())}) {
        const auto found = store_.compare_and_set(name, std::nullopt, value, deadline_);
        if (!found.ok()) return found.status();
      }
    }
    const std::string before = current->serialise();
    const auto expected = current->number > 0 ? std::optional<std::string_view>(before) : std::nullopt;
    const auto found = store_.compare_and_set(epoch_key(), expected, epoch_.serialise(), deadline_);
    if (!found.ok()) return found.status();
  }
}

// This rank has all that it needs. Others may have been cut off before they had it, and read it once it is there again.
void Rendezvous::keep_saying(const std::string& card, const std::stop_token& stop) const {
  while (!stop.stop_requested() && !deadline_.passed()) {
    sleep_unless_stopped(look_at_connection_every, stop);
    if (stop.stop_requested()) return;
    try {
      if (!store_.connection().ok()) say_to_the_next(card, stop);
    } catch (const std::exception&) {  // memory ran out; it tries again
    }
  }
}

void Rendezvous::say_to_the_next(const std::string& card, const std::stop_token& stop) const {
  Rendezvous again(store_, options_, earlier(deadline_, Deadline::after(one_attempt)), stop, places_.token(), nullptr);
  again.epoch_ = epoch_;
  again.said_ = said_;
  again.has_met_ = true;
  if (!again.say_again().ok()) return;
  (void)again.store_.claim(card_key(options_.rank), std::nullopt, card, {}, again.deadline_);
  // Where no server does that, rank 0 says that all have come. Who has that without the cards looks for them again.
  if (options_.rank != 0 || store_.claims_end_with_owner()) return;
  (void)again.store_.compare_and_set(key(epoch_.number, "verdict"), std::nullopt, Verdict::complete(), again.deadline_);
}

}  // namespace hocket::comm
