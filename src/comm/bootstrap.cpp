#include "src/comm/bootstrap.hpp"

#include <fmt/format.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/caught.hpp"
#include "src/base/log.hpp"
#include "src/base/random.hpp"
#include "src/comm/finalize.hpp"
#include "src/comm/job_secret.hpp"
#include "src/comm/launcher_meeting.hpp"
#include "src/comm/left_servers.hpp"
#include "src/comm/rendezvous.hpp"
#include "src/store/backoff.hpp"
#include "src/store/callback_store.hpp"
#include "src/store/open_store.hpp"
#include "src/store/store_server.hpp"

namespace hocket::comm {
namespace {

constexpr std::chrono::milliseconds longest_pause{100};  // before this rank comes to the store again
constexpr std::chrono::milliseconds dying{30};           // from the end of a process's connections to its own
constexpr std::chrono::milliseconds between_looks{1};
constexpr std::chrono::seconds refusal_time{1};  // how long a host may take to say that nobody listens

// Connects to both neighbours and learns what everyone tells by a ring allgather, so the store is not needed any more.
// The ring of connections stays: each rank's end is noticed by two others, who pass it on.
Result<SharedPeerInfos> exchange_on_ring(Rendezvous& rendezvous, LinkSet& link_set, const Standby& standby,
                                         const Options& options, Deadline deadline) {
  PeerInfo mine = describe_self(options, link_set.mesh().endpoints());
  mine.standby = standby.endpoints();
  const auto [next, previous] = neighbours_of(options.rank, options.size);
  const std::vector<Rank> neighbours{next, previous};
  const auto infos = rendezvous.exchange(mine, neighbours);
  if (!infos.ok()) return infos.status();
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    const PeerInfo& info = (*infos)[i];
    if (info.build.protocol != mine.build.protocol) return check_build(mine, options.rank, info, neighbours[i]);
    link_set.add_peer(neighbours[i], info);
  }
  return tell_on_ring(link_set, mine, deadline);
}

Result<CommunicatorParts> connect_first_ring(Rendezvous& rendezvous, std::shared_ptr<LinkSet> link_set,
                                             const Options& options, Deadline deadline, const std::stop_token& stop) {
  const AbortOnStop abort_on_stop(stop, link_set);
  auto standby = Standby::open(options, rendezvous.group());
  if (!standby.ok()) return standby.status();
  auto peers = exchange_on_ring(rendezvous, *link_set, **standby, options, deadline);
  if (!peers.ok()) return peers.status();
  (*standby)->know(**peers);
  auto parts = finalize(options, std::move(*peers), std::move(link_set), deadline);
  if (!parts.ok()) return parts;
  parts->lineage = first_lineage(std::move(*standby), rendezvous.group());
  return parts;
}

// Peers that are connected already learn the cause, and not only that this rank has gone.
void pass_on(const Status& why, LinkSet& link_set) {
  link_set.executor().abort(why, *link_set.executor().first());
}

Result<std::unique_ptr<Store>> open(const Options& options, std::unique_ptr<StoreServer>& server, Deadline deadline,
                                    const std::stop_token& stop) {
  if (options.callbacks) return std::unique_ptr<Store>(std::make_unique<CallbackStore>(*options.callbacks));
  const std::size_t serves = options.rank == 0 ? static_cast<std::size_t>(options.size) : 0;
  if (options.meeting) {
    MeetingPoint point = *options.meeting;
    point.job = options.name;
    if (options.rank == 0 && !server) end_left_servers(point.name);
    return meet_at(point, serves, server, deadline, stop, options.trust);
  }
  return open_store(options.store, deadline, stop, options.trust);
}

// One creation, which may have to come to the store more than once.
struct Coming {
  const Deadline deadline;
  const std::stop_token& stop;
  const std::uint64_t token = random_number();
  bool again = false;       // rank 0 began anew
  bool reached = false;     // a store
  ServedStore served = {};  // the one that was open last, where rank 0 serves it and not a daemon
  Visit visit = {};         // to it
};

// Also those that pause between two attempts to reach the store, and have not been there yet. What this rank has not
// written there, because it has no descriptors to go there, its server says.
void let_others_read_why(std::unique_ptr<StoreServer> server, const Coming& coming, const Options& options,
                         const Status& why) {
  if (!coming.reached && why.code() == Code::out_of_resources) server->turn_all_away(why.message());
  const Deadline until = Deadline::after(farewell_after_failure);
  if (coming.stop.stop_requested()) {  // who gives up leaves nothing behind
    (void)server->wait_until_no_clients(until);
    return;
  }
  const std::size_t readers = coming.deadline.passed() ? 0 : static_cast<std::size_t>(options.size);
  leave_server(options.meeting->name, std::move(server), readers, until);
}

// Who serves the store that is open now.
Status look_who_serves(Store& store, const Options& options, Coming& coming) {
  const bool may_be_rank_0 = options.meeting && options.rank != 0;
  const auto text =
      may_be_rank_0 ? store.peek(meeting_point_key, coming.deadline) : Result<std::optional<std::string>>(std::nullopt);
  if (!text.ok()) return text.status();
  coming.reached = true;
  coming.visit = {.rank_0_serves = text->has_value(), .missed = std::move(coming.visit.missed)};
  if (*text) coming.served = ServedStore::parse(**text);
  return {};
}

// A store that was there and is not any more, and does not come back, went with the rank that served it. One that never
// was there is missing because rank 0 is, which would have served it.
Status without_store(const Status& status, const Coming& coming, const Options& options) {
  const bool store_lost = status.code() == Code::store_unreachable && status.cause().peer == no_rank;
  const bool waits_for_rank_0 = options.meeting && options.rank != 0;
  if (!store_lost || !(coming.reached ? coming.visit.rank_0_serves : waits_for_rank_0)) return status;
  if (coming.visit.missed) return *coming.visit.missed;
  Cause cause = status.cause();
  if (coming.reached) cause.message = "rank 0, which served the store, is gone: " + cause.message;
  cause.peer = 0;
  return Status(std::move(cause));
}

// Whether a store was lost because rank 0, which served it, is gone. Its connections end a moment before its process
// and its port do. Where the process is out of sight the port tells, if the store began with the meeting that this rank
// came for: one that began with an earlier communicator ends with that, and rank 0 serves another one.
bool is_rank_0_gone(Store& store, const Options& options, const Coming& coming) {
  const bool port_tells = coming.served.job == options.name && coming.visit.epoch == 1;
  const auto is_gone = [&] {
    const auto alive = coming.served.process.is_alive();
    return alive ? !*alive : port_tells && store.is_refused(earlier(coming.deadline, Deadline::after(refusal_time)));
  };
  for (const Deadline deadline = Deadline::after(dying); !is_gone();) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(between_looks);
  }
  return true;
}

// Where it was given up, that is why it failed, and not what it saw last of a store that was lost meanwhile.
Status unless_given_up(const Status& status, const Options& options, const std::stop_token& stop) {
  if (status.code() != Code::store_unreachable || !stop.stop_requested()) return status;
  return {Code::aborted, fmt::format("rank {} gave up waiting for the others: {}", options.rank, status.message())};
}

// `link_set`: once it is open.
Result<CommunicatorParts> meet(Rendezvous& rendezvous, Store& store, const Options& options, const RegionTable& regions,
                               const Coming& coming, std::shared_ptr<LinkSet>& link_set) {
  auto own = with_secret(options, store, coming.deadline);
  if (!own.ok()) return own.status();
  if (!options.callbacks) own->reports = {options.name, options.store, options.meeting, options.trust};
  if (needs_secret(options)) rendezvous.say(secret_key(options), own->trust.secret);
  auto opened = LinkSet::open(*own, {.group = rendezvous.group(), .regions = &regions});
  if (!opened.ok()) return opened.status();
  link_set = std::move(*opened);
  return connect_first_ring(rendezvous, link_set, *own, coming.deadline, coming.stop);
}

// `own`: this rank's server, if it serves the store.
Result<CommunicatorParts> meet_in(Store& store, const StoreServer* own, const Options& options,
                                  const RegionTable& regions, Coming& coming) {
  // Looked at before this rank joins: all ranks find out by themselves.
  if (Status safe = needs_secret(options) ? store.confidential() : Status(); !safe.ok()) return safe;
  if (Status known = look_who_serves(store, options, coming); !known.ok()) return known;
  auto rendezvous = Rendezvous::join(store, options, coming.deadline, coming.stop, coming.token, &coming.visit);
  if (!rendezvous.ok()) return rendezvous.status();
  if (own != nullptr) (*rendezvous)->watch([own] { return own->starved(); });
  std::shared_ptr<LinkSet> link_set;
  auto parts = caught_in([&] { return meet(**rendezvous, store, options, regions, coming, link_set); });
  if (parts.ok()) {
    (*rendezvous)->finish();
    return parts;
  }
  const Status why = caught_in([&] { return (*rendezvous)->fail(parts.status()); });
  coming.again = (*rendezvous)->superseded();
  if (link_set) pass_on(why, *link_set);
  return why;
}

bool lost_store(const Status& status, const Options& options) {
  return status.code() == Code::store_unreachable && status.cause().peer == no_rank && !options.callbacks;
}

Result<CommunicatorParts> open_store_and_meet(const Options& options, const RegionTable& regions,
                                              std::unique_ptr<StoreServer>& server, Coming& coming) {
  auto store = open(options, server, coming.deadline, coming.stop);
  if (!store.ok()) return store.status();
  auto parts = meet_in(**store, server.get(), options, regions, coming);
  if (lost_store(parts.status(), options) && coming.visit.rank_0_serves && is_rank_0_gone(**store, options, coming)) {
    return coming.visit.missed.value_or(Rendezvous::lost(0));
  }
  return parts;
}

}  // namespace

// Meets the others, again if rank 0 begins anew, or if the store went away meanwhile: it may have been that of an
// earlier communicator, which rank 0 had not destroyed yet.
Result<CommunicatorParts> bootstrap(const Options& given, const RegionTable& regions, const std::stop_token& stop) {
  const auto deadline = Deadline::after(given.timeout);
  const auto resolved = with_meeting_point(given, deadline, stop);
  if (!resolved.ok()) return unless_given_up(resolved.status(), given, stop);
  const Options& options = *resolved;
  Coming coming{.deadline = deadline, .stop = stop};
  std::unique_ptr<StoreServer> server;
  for (store::Backoff backoff(deadline, longest_pause);; backoff.sleep()) {
    coming.again = false;
    auto parts = open_store_and_meet(options, regions, server, coming);
    if (parts.ok()) {
      parts->server = std::move(server);
      return parts;
    }
    const Status status = parts.status();
    if ((lost_store(status, options) || coming.again) && !deadline.passed() && !stop.stop_requested()) {
      log::info(fmt::format("rank {} comes to the store again: {}", options.rank, status.message()));
      continue;
    }
    if (server) let_others_read_why(std::move(server), coming, options, status);
    return unless_given_up(without_store(status, coming, options), options, stop);
  }
}

}  // namespace hocket::comm
