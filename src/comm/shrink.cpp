#include "src/comm/shrink.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/random.hpp"
#include "src/base/signals_blocked.hpp"
#include "src/comm/finalize.hpp"
#include "src/comm/local.hpp"
#include "src/comm/regroup.hpp"

namespace hocket::comm {
namespace {

using std::chrono_literals::operator""ms;

// Between two looks at who is alive, and whether this one is to stop.
constexpr auto look_around = 20ms;
// What the last notes may take.
constexpr auto farewell = 200ms;

bool one_host(const Membership& membership) {
  return std::ranges::all_of(membership.peers(),
                             [&](const PeerInfo& peer) { return peer.host == membership.peers()[0].host; });
}

// One rank's way from a broken communicator to the next. Ranks are those of the standby, unless it says otherwise.
class Shrinking {
 public:
  Shrinking(const CommunicatorParts& from, const Status& broken, const RegionTable* regions,
            const ShrinkRequest& request, const std::stop_token& stop)
      : from_(from),
        request_(request),
        regions_(regions),
        stop_(stop),
        standby_(*from.lineage.standby),
        deadline_(Deadline::after(request.timeout)),
        regroup_(config(broken)) {}

  Result<CommunicatorParts> run();

 private:
  using Wish = Regroup::Wish;

  Regroup::Config config(const Status& broken) const;
  Rank standby_rank(Rank rank) const { return from_.lineage.standby_ranks[static_cast<std::size_t>(rank)]; }
  Rank rank_of(Rank standby_rank) const;
  const PeerInfo& info_of(Rank standby_rank) const;
  Status give_up() const;
  Status excluded() const;
  Status leave(const Status& why);
  void send_notes();
  void take(const std::vector<Standby::News>& news);
  void look_who_is_alive();
  void be_patient();
  Options new_options() const;
  Status open();
  Result<CommunicatorParts> make();
  Result<CommunicatorParts> make_on_ring(const Options& options);
  std::string why_in_vain(const Standby::News& news) const;
  std::string who_has_ended() const;
  void attend(const std::stop_token& made);
  Result<SharedPeerInfos> meet_neighbours(const Options& options);

  const CommunicatorParts& from_;
  const ShrinkRequest& request_;
  const RegionTable* const regions_;
  const std::stop_token& stop_;
  Standby& standby_;
  const Deadline deadline_;
  Regroup regroup_;
  std::optional<std::pair<std::uint64_t, Deadline>> patience_;  // since which step of the regrouping, until when
  std::shared_ptr<LinkSet> link_set_;                           // of the group that is under way
  PeerInfo card_;                                               // of this rank there
  std::vector<Standby::News> missed_;                           // what has come while this rank made a group
};

// A rank that is known to be dead need not be waited for; one that was waited for in vain when the communicator broke,
// for a second time neither.
Regroup::Config Shrinking::config(const Status& broken) const {
  const std::vector<Rank>& ranks = from_.lineage.standby_ranks;
  Regroup::Config config{.self = standby_.rank(),
                         .members = Ranks(ranks.begin(), ranks.end()),
                         .gone = standby_.gone(),
                         .separable = !one_host(from_.membership),
                         .majority = request_.majority,
                         .draw_group = [] { return random_number(); }};
  const Cause& cause = broken.cause();
  if (cause.peer == no_rank || cause.peer == from_.membership.rank()) return config;
  if (cause.code == Code::peer_lost) config.gone.insert(standby_rank(cause.peer));
  if (cause.code == Code::timeout) config.blamed.insert(standby_rank(cause.peer));
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
  standby_.flush(Deadline::after(farewell));
  return why;
}

// ---- agreement ------------------------------------------------------------------------------------------------------

void Shrinking::send_notes() {
  for (const auto& [to, note] : regroup_.take_notes()) {
    if (note.kind == Note::Kind::come) standby_.reach(to);
    standby_.tell(to, note);
  }
  // This rank may attend to something else next.
  if (regroup_.wish() != Wish::wait) standby_.flush(earlier(Deadline::after(farewell), deadline_));
}

void Shrinking::take(const std::vector<Standby::News>& news) {
  for (const auto& [from, note] : news) {
    if (note) {
      regroup_.heard(from, *note);
    } else {
      regroup_.lost(from);
    }
  }
}

// A rank that has never come has no connection whose end would tell. Where its process is in sight, its end is.
void Shrinking::look_who_is_alive() {
  for (const Rank rank : regroup_.awaited()) {
    if (info_of(rank).process.is_alive() == false) regroup_.lost(rank);
  }
}

void Shrinking::be_patient() {
  if (!patience_ || patience_->first != regroup_.steps()) {
    patience_ = {regroup_.steps(), Deadline::after(request_.patience * regroup_.patience())};
  } else if (patience_->second.passed()) {
    regroup_.out_of_patience();
  }
}

Result<CommunicatorParts> Shrinking::run() {
  for (const Rank rank : from_.lineage.standby_ranks) {
    if (rank > standby_.rank()) standby_.reach(rank);  // it may dial this one
  }
  while (!deadline_.passed() && !stop_.stop_requested()) {
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
        if (!parts.ok() && parts.status().code() == Code::out_of_resources) return leave(parts.status());
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

// ---- the new communicator -------------------------------------------------------------------------------------------

Options Shrinking::new_options() const {
  Options options = from_.membership.options();
  options.store.clear();
  options.meeting.reset();
  options.callbacks.reset();
  const Ranks& members = regroup_.members();
  options.size = static_cast<Rank>(members.size());
  options.rank = static_cast<Rank>(std::distance(members.begin(), members.find(standby_.rank())));
  options.name = request_.name.empty() ? options.name + "/shrink" : request_.name;
  return options;
}

Status Shrinking::open() {
  link_set_.reset();
  card_ = info_of(standby_.rank());
  card_.endpoints.clear();
  const Options options = new_options();
  if (options.size > 1) {
    auto link_set =
        LinkSet::open(options, {.group = regroup_.group(), .regions = regions_, .says_name = true, .transport = {}});
    if (!link_set.ok()) return link_set.status();
    link_set_ = std::move(*link_set);
    card_.endpoints = link_set_->mesh().endpoints();
  }
  regroup_.opened(card_.serialise());
  return {};
}

Result<SharedPeerInfos> Shrinking::meet_neighbours(const Options& options) {
  const auto neighbours = neighbours_of(options.rank, options.size);
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    const auto info = PeerInfo::parse(regroup_.neighbours()[i]);
    if (!info.ok()) return info.status();
    link_set_->mesh().add_peer(neighbours[i], info->endpoints);
  }
  const Deadline deadline = earlier(deadline_, Deadline::after(request_.patience));
  auto told = exchange_peer_infos(options.rank, options.size, card_,
                                  [&](auto all) { return allgather_on_ring(*link_set_, all, deadline); });
  if (!told.ok()) return told.status();
  auto peers = std::make_shared<std::vector<PeerInfo>>();
  for (Result<PeerInfo>& info : *told) {
    if (!info.ok()) return info.status();
    peers->push_back(std::move(*info));
  }
  return SharedPeerInfos(std::move(peers));
}

// What makes it pointless to go on making the group; empty: nothing.
std::string Shrinking::why_in_vain(const Standby::News& news) const {
  const bool member = regroup_.members().contains(news.from);
  if (!news.note) return member ? fmt::format("rank {} is gone", rank_of(news.from)) : "";
  switch (news.note->kind) {
    case Note::Kind::come:
    case Note::Kind::leave: return member ? fmt::format("rank {} has begun anew", rank_of(news.from)) : "";
    case Note::Kind::members: return news.from == regroup_.leader() ? "others are to make a group" : "";
    case Note::Kind::excluded: return "others go on without this rank";
    default: return "";
  }
}

std::string Shrinking::who_has_ended() const {
  for (const Rank rank : regroup_.members()) {
    if (info_of(rank).process.is_alive() == false) return fmt::format("rank {} is gone", rank_of(rank));
  }
  return "";
}

// While this rank makes the group: one that dies before it has connected to its neighbours in the group is missed by
// nobody there.
void Shrinking::attend(const std::stop_token& made) {
  while (!made.stop_requested()) {
    std::string in_vain = who_has_ended();
    for (Standby::News& news : standby_.await(Deadline::after(look_around))) {
      if (in_vain.empty()) in_vain = why_in_vain(news);
      missed_.push_back(std::move(news));
    }
    if (!in_vain.empty()) link_set_->executor().abort(Status(Code::aborted, in_vain), *link_set_->executor().first());
  }
}

Result<CommunicatorParts> Shrinking::make_on_ring(const Options& options) {
  if (options.size == 1) return make_alone(options, card_, regions_, true);
  const AbortOnStop abort_on_stop(stop_, link_set_);
  std::jthread attendant;
  try {
    const SignalsBlocked blocked;
    attendant = std::jthread([this](const std::stop_token& made) { attend(made); });
  } catch (const std::system_error&) {
    return Status(Code::out_of_resources, "no thread is left; see `ulimit -u`");
  }
  auto peers = meet_neighbours(options);
  auto parts = peers.ok() ? finalize(options, std::move(*peers), link_set_, deadline_) : peers.status();
  if (!parts.ok()) link_set_->executor().abort(parts.status(), *link_set_->executor().first());
  return parts;
}

Result<CommunicatorParts> Shrinking::make() {
  const Options options = new_options();
  auto parts = make_on_ring(options);
  const std::vector<Rank> members(regroup_.members().begin(), regroup_.members().end());
  link_set_.reset();
  const auto take_missed = [&] { take(std::exchange(missed_, {})); };
  if (!parts.ok()) {
    const Cause& cause = parts.status().cause();
    log::info(fmt::format("rank {} of \"{}\" begins anew to shrink it: {}", from_.membership.rank(),
                          from_.membership.name(), cause.message));
    const bool in_vain = cause.code == Code::timeout && cause.peer >= 0 && cause.peer < options.size;
    regroup_.made(false, in_vain ? members[static_cast<std::size_t>(cause.peer)] : no_rank);
    take_missed();
    return parts;
  }
  regroup_.made(true);
  take_missed();
  parts->lineage = {.standby = from_.lineage.standby, .standby_ranks = members};
  for (const Rank member : members) parts->lineage.previous_ranks.push_back(rank_of(member));
  return parts;
}

}  // namespace

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
        fmt::format("\"{}\" cannot be shrunk: it was made of another communicator, of one rank or of threads; "
                    "shrink the communicator that came from a store, and split it again",
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
  ShrinkRequest given = request;
  if (given.timeout.count() == 0) given.timeout = membership.options().timeout;
  if (given.patience.count() == 0) given.patience = given.timeout / 3;
  return Shrinking(from, broken, regions, given, stop).run();
}

}  // namespace hocket::comm
