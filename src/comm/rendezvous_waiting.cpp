// The waits of a rendezvous: for everyone's card, and what a rank looks at meanwhile.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <thread>

#include "src/base/log.hpp"
#include "src/comm/rendezvous.hpp"

namespace hocket::comm {
namespace {

constexpr std::chrono::milliseconds look_around_every{250};
constexpr std::chrono::seconds warn_every{10};
constexpr std::size_t listed_max = 16;

// Of the creation that wrote the card.
std::uint64_t token_of(std::string_view card) {
  std::uint64_t token = 0;
  (void)std::from_chars(card.data(), card.data() + card.size(), token);
  return token;
}

}  // namespace

Deadline Rendezvous::slice() const {
  return earlier(deadline_, Deadline::after(look_around_every));
}

void Rendezvous::pause() const {
  std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(std::chrono::milliseconds(20), deadline_.remaining()));
}

// Waits until everyone has published, or somebody could not.
Status Rendezvous::gather() {
  while (!complete_) {
    const auto verdict = options_.rank == 0 ? pronounce() : await_verdict();
    if (!verdict.ok() && verdict.status().code() != Code::timeout) return verdict.status();
    if (verdict.ok() && verdict->kind == Verdict::Kind::failed) return verdict->why;
    complete_ = verdict.ok() && verdict->kind == Verdict::Kind::complete;
    if (verdict.ok() && verdict->kind == Verdict::Kind::superseded) return begun_anew();
    if (complete_) break;
    if (Status status = look_around(); !status.ok()) return status;
  }
  return {};
}

Status Rendezvous::begun_anew() {
  superseded_ = true;
  return {Code::aborted, fmt::format("rank 0 of job \"{}\" began anew while others waited for it", options_.name)};
}

Result<Verdict> Rendezvous::await_verdict() {
  const auto text = store_.get(key(epoch_.number, "verdict"), slice());
  if (!text.ok()) return text.status();
  return Verdict::parse(*text);
}

// Rank 0: says that the gathering is complete once it is. Code::timeout: not yet.
Result<Verdict> Rendezvous::pronounce() {
  const Status all_there = wait_for_cards();
  if (!all_there.ok()) {
    if (all_there.code() != Code::timeout) return all_there;
    const auto verdict = verdict_of(epoch_.number);
    if (!verdict.ok()) return verdict.status();
    return *verdict ? Result<Verdict>(**verdict) : all_there;
  }
  const auto before =
      store_.compare_and_set(key(epoch_.number, "verdict"), std::nullopt, Verdict::complete(), deadline_);
  if (!before.ok()) return before.status();
  return Verdict::parse((*before).value_or(Verdict::complete()));
}

Status Rendezvous::wait_for_cards() {
  const Deadline until = slice();
  const Status counted =
      store_.wait_for_keys(key(epoch_.number, "card/"), static_cast<std::size_t>(options_.size), until);
  if (counted.code() != Code::unsupported) return counted;
  cards_.resize(static_cast<std::size_t>(options_.size));
  for (; arrived_ < options_.size; ++arrived_) {
    const auto card = store_.get(card_key(arrived_), until);
    if (!card.ok()) return card.status();
    cards_[static_cast<std::size_t>(arrived_)] = token_of(*card);
  }
  return expect_all_alive(until);
}

// In a store that cannot see who is gone: the card of each rank must be that of its place's holder, who must not be
// known to have ended.
Status Rendezvous::expect_all_alive(Deadline until) {
  for (Rank rank = 1; rank < options_.size; ++rank) {
    std::uint64_t& token = cards_[static_cast<std::size_t>(rank)];
    const auto place = store_.peek(places_.key(epoch_.number, rank), deadline_);
    if (!place.ok()) return place.status();
    const auto claim = *place ? Claim::parse(**place) : std::nullopt;
    const bool ended = !claim || claim->process.is_alive() == false;
    if (!ended && claim->token == token) continue;
    const auto card = store_.peek(card_key(rank), deadline_);  // a successor's, perhaps
    if (!card.ok()) return card.status();
    if (*card) token = token_of(**card);
    if (!ended && claim->token == token) continue;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(std::chrono::milliseconds(20), until.remaining()));
    return {Code::timeout, fmt::format("rank {} is not there yet", rank)};
  }
  return {};
}

// Is it worth to wait on?
Status Rendezvous::look_around() {
  if (stop_.stop_requested()) {
    return {Code::aborted, fmt::format("rank {} gave up waiting for the others", options_.rank)};
  }
  if (deadline_.passed()) return timed_out();
  if (Status status = places_.beat(deadline_); !status.ok()) return status;
  if (epoch_.number > 0 && options_.rank != 0) {
    const auto now = current_epoch();
    if (!now.ok()) return now.status();
    if (now->group != epoch_.group) return begun_anew();
  }
  if (warned_.passed()) {
    warned_ = Deadline::after(warn_every);
    log::warn(describe_wait("waits"));
  }
  return {};
}

Status Rendezvous::timed_out() const {
  const auto missing = missing_ranks();
  const bool came_late = missed_ != nullptr && *missed_;
  return Status(Cause{.code = Code::timeout,
                      .message = describe_wait("waited in vain") +
                                 (came_late ? "; a meeting before had failed: " + (*missed_)->message() : ""),
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

}  // namespace hocket::comm
