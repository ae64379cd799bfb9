#include "src/comm/shrink.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "src/base/caught.hpp"
#include "src/base/random.hpp"
#include "src/comm/shrinking.hpp"

namespace hocket::comm {
namespace {

bool one_host(const Membership& membership) {
  return std::ranges::all_of(membership.peers(),
                             [&](const PeerInfo& peer) { return peer.host == membership.peers()[0].host; });
}

}  // namespace

Shrinking::Shrinking(const CommunicatorParts& from, const Status& broken, const RegionTable* regions,
                     const ShrinkRequest& request, const std::stop_token& stop)
    : from_(from),
      request_(request),
      regions_(regions),
      stop_(stop),
      standby_(*from.lineage.standby),
      deadline_(Deadline::after(request.timeout)),
      regroup_(config(broken)) {}

// A rank that is known to be dead need not be waited for; one that was waited for in vain when the communicator broke,
// for a second time neither.
Regroup::Config Shrinking::config(const Status& broken) {
  const std::vector<Rank>& ranks = from_.lineage.standby_ranks;
  Regroup::Config config{.self = standby_.rank(),
                         .members = Ranks(ranks.begin(), ranks.end()),
                         .gone = {},
                         .silent = standby_.out_of_reach(),
                         .separable = !one_host(from_.membership),
                         .majority = request_.majority,
                         .draw_group = [] { return random_number(); }};
  for (const Rank rank : standby_.ended()) (has_ended(rank) ? config.gone : config.silent).insert(rank);
  const Cause& cause = broken.cause();
  if (cause.peer == no_rank || cause.peer == from_.membership.rank()) return config;
  const Rank blamed = standby_rank(cause.peer);
  if (cause.code == Code::timeout) config.blamed.insert(blamed);
  suspicion_ = suspicion_of(broken);
  if (suspicion_ == Suspicion::none) return config;
  suspect_ = blamed;
  if (has_ended(blamed)) config.gone.insert(blamed);
  return config;
}

Rank Shrinking::rank_of(Rank standby_rank) const {
  const std::vector<Rank>& ranks = from_.lineage.standby_ranks;
  return static_cast<Rank>(std::ranges::find(ranks, standby_rank) - ranks.begin());
}

const PeerInfo& Shrinking::info_of(Rank standby_rank) const {
  return from_.membership.peers()[static_cast<std::size_t>(rank_of(standby_rank))];
}

// ---- how it may end -------------------------------------------------------------------------------------------------

Status Shrinking::give_up() const {
  if (stop_.stop_requested()) return {Code::aborted, "shrinking was given up"};
  std::vector<Rank> awaited;
  for (const Rank rank : regroup_.awaited()) awaited.push_back(rank_of(rank));
  const std::string message =
      awaited.empty()
          ? "too few ranks have come to go on without the others, which may be alive and unable to reach these; set "
            "options.minority where they are known to be gone"
          : fmt::format("rank{} {} did not come to shrink \"{}\"", awaited.size() == 1 ? "" : "s",
                        fmt::join(awaited, ", "), from_.membership.name());
  return Status(Cause{.code = Code::timeout,
                      .message = message,
                      .rank = from_.membership.rank(),
                      .peer = awaited.empty() ? no_rank : awaited.front(),
                      .operation = "shrink"});
}

Status Shrinking::excluded() const {
  const Rank other = rank_of(regroup_.other());
  return Status(
      Cause{.code = Code::excluded,
            .message = fmt::format("rank {} of \"{}\" was not heard of in time, and the others went on without it, as "
                                   "rank {} says",
                                   from_.membership.rank(), from_.membership.name(), other),
            .rank = other,
            .peer = from_.membership.rank(),
            .operation = "shrink"});
}

// The others need not wait for this rank.
Status Shrinking::leave(const Status& why) {
  if (!regroup_.leads()) standby_.tell(regroup_.leader(), {.kind = Note::Kind::leave});
  standby_.flush(Deadline::after(flush_time));
  return why;
}

// Others may have died or begun anew, and one that lacks something leaves; all else would happen again.
bool Shrinking::may_begin_anew_after(const Status& failure) const {
  const Cause& cause = failure.cause();
  const bool lacks = cause.code == Code::out_of_resources;
  if (lacks) return cause.rank != no_rank && cause.rank != place_of(standby_.rank());
  return cause.code == Code::peer_lost || cause.code == Code::timeout || cause.code == Code::aborted;
}

// ---- agreement ------------------------------------------------------------------------------------------------------

void Shrinking::send_notes() {
  for (const auto& [to, note] : regroup_.take_notes()) {
    if (note.kind == Note::Kind::come) standby_.reach(to);
    standby_.tell(to, note);
  }
  // This rank may attend to something else next.
  if (regroup_.wish() != Wish::wait) standby_.flush(earlier(Deadline::after(flush_time), deadline_));
}

void Shrinking::take(const std::vector<News>& news) {
  for (const News& one : news) {
    if (one.note) {
      regroup_.heard(one.from, *one.note);
    } else if (one.ended && has_ended(one.from)) {
      regroup_.lost(one.from);
    } else {
      regroup_.out_of_reach(one.from);
    }
  }
}

// A rank that has never come has no connection whose end would tell. Where its process is in sight, its end is. And
// a connection may end a moment before the door of a dying process is shut.
void Shrinking::look_who_is_alive() {
  Ranks doubtful = regroup_.awaited();
  doubtful.insert(regroup_.silent().begin(), regroup_.silent().end());
  for (const Rank rank : doubtful) {
    if (has_ended(rank)) regroup_.lost(rank);
  }
}

bool Shrinking::has_ended(Rank rank) {
  if (std::ranges::find(from_.lineage.standby_ranks, rank) == from_.lineage.standby_ranks.end()) return false;
  return standby_.has_gone(rank, info_of(rank).process, rank == suspect_ ? suspicion_ : Suspicion::none);
}

void Shrinking::be_patient() {
  if (!patience_ || patience_->first != regroup_.steps()) {
    patience_ = {regroup_.steps(), Deadline::after(request_.patience * regroup_.patience())};
  } else if (patience_->second.passed()) {
    regroup_.out_of_patience();
  }
}

Result<CommunicatorParts> Shrinking::run() {
  try {
    return regroup();
  } catch (...) {
    const Status why = caught.status();
    standby_.leave(why);
    return why;
  }
}

Result<CommunicatorParts> Shrinking::regroup() {
  for (const Rank rank : from_.lineage.standby_ranks) {
    if (rank > standby_.rank()) standby_.reach(rank);  // it may dial this one
  }
  while (!deadline_.passed() && !stop_.stop_requested()) {
    if (!standby_.shortage().ok()) return leave(standby_.shortage());
    send_notes();
    switch (regroup_.wish()) {
      case Wish::wait:
        take(standby_.await(earlier(Deadline::after(look_around), deadline_)));
        look_who_is_alive();
        be_patient();
        break;
      case Wish::open:
        if (Status opened = open(); !opened.ok()) return leave(opened);
        break;
      case Wish::make: {
        auto parts = make();
        if (!parts.ok() && !may_begin_anew_after(parts.status())) return leave(parts.status());
        if (!parts.ok()) break;
        send_notes();
        return parts;
      }
      case Wish::excluded: return excluded();
      case Wish::done: break;
    }
  }
  return leave(give_up());
}

Result<ShrinkRequest> shrink_request(const hocket_shrink_options& options) {
  const auto negative = [](const char* field, std::int64_t value) {
    return Status(Code::invalid_argument,
                  fmt::format("shrink: options.{} is {}; it must be positive, or 0 for the default", field, value));
  };
  if (options.timeout_ms < 0) return negative("timeout_ms", options.timeout_ms);
  if (options.patience_ms < 0) return negative("patience_ms", options.patience_ms);
  if (options.minority != 0 && options.minority != 1) {
    return Status(Code::invalid_argument,
                  fmt::format("shrink: options.minority is {}; it must be 0 or 1", options.minority));
  }
  return ShrinkRequest{.timeout = std::chrono::milliseconds(options.timeout_ms),
                       .patience = std::chrono::milliseconds(options.patience_ms),
                       .majority = options.minority == 0,
                       .name = options.name == nullptr ? "" : options.name};
}

Result<CommunicatorParts> shrink(const CommunicatorParts& from, const Status& broken, const RegionTable* regions,
                                 const ShrinkRequest& request, const std::stop_token& stop) {
  const Membership& membership = from.membership;
  if (!from.lineage.standby) {
    return Status(
        Code::unsupported,
        fmt::format(
            "\"{}\" cannot be shrunk: it runs on the links of another communicator, or is one of one rank or of "
            "threads; shrink the communicator that has the links, and split it again",
            membership.name()));
  }
  const Cause& cause = broken.cause();
  if (cause.code == Code::timeout && cause.peer == membership.rank()) {
    return Status(
        Cause{.code = Code::excluded,
              .message = fmt::format("\"{}\" goes on without rank {}, for which the others waited in vain: {}",
                                     membership.name(), membership.rank(), cause.message),
              .rank = cause.rank,
              .peer = membership.rank(),
              .operation = "shrink"});
  }
  const auto turn = StandbyTurn::take(from.lineage.standby, [&] {
    return Doing{.shrinks = true, .generation = from.lineage.generation, .group = from.lineage.group, .number = 0};
  });
  if (!turn.ok()) return turn.status();
  ShrinkRequest given = request;
  if (given.timeout.count() == 0) given.timeout = membership.options().timeout;
  if (given.patience.count() == 0) given.patience = given.timeout / 3;
  return Shrinking(from, broken, regions, given, stop).run();
}

}  // namespace hocket::comm
