#include "src/comm/children.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "src/base/caught.hpp"
#include "src/base/random.hpp"
#include "src/comm/attendant.hpp"
#include "src/comm/finalize.hpp"
#include "src/comm/local.hpp"

namespace hocket::comm {
namespace {

using Child = std::optional<CommunicatorParts>;

// What this rank told when the parent was made.
PeerInfo self(const Parent& parent) {
  const Membership& membership = parent.parts.membership;
  return membership.peers()[static_cast<std::size_t>(membership.rank())];
}

Options options_of_child(const Parent& parent, const SplitRequest& request, const ChildGroup& group) {
  Options options = parent.parts.membership.options();
  options.store.clear();
  options.meeting.reset();
  if (request.timeout.count() > 0) options.timeout = request.timeout;
  options.rank = group.rank;
  options.size = static_cast<Rank>(group.members.size());
  const SplitArguments& arguments = request.arguments;
  const int number = ++parent.children;
  if (!request.name.empty()) {
    options.name = request.name;
  } else {
    options.name += fmt::format("/{} {}", name_of(arguments.kind), number);
    if (arguments.kind == SplitKind::split) options.name += fmt::format(" color {}", arguments.color);
  }
  return options;
}

// What the members of a new communicator told, in its order. A member that failed to make itself reachable fails all.
Result<SharedPeerInfos> exchange_over_parent(const Parent& parent, const Result<PeerInfo>& mine,
                                             const std::vector<Rank>& members, Deadline deadline) {
  const Membership& membership = parent.parts.membership;
  auto told = exchange_peer_infos(membership.rank(), membership.size(), mine,
                                  [&](auto all) { return parent.allgather(all, deadline); });
  if (!told.ok()) return told.status();
  auto peers = std::make_shared<std::vector<PeerInfo>>();
  for (const Rank member : members) {
    Result<PeerInfo>& info = (*told)[static_cast<std::size_t>(member)];
    if (!info.ok()) {
      return Status(Cause{.code = info.status().code(),
                          .message = fmt::format("rank {} of \"{}\" could not join its new communicator: {}", member,
                                                 membership.name(), info.status().message()),
                          .rank = member,
                          .peer = member});
    }
    peers->push_back(std::move(*info));
  }
  return SharedPeerInfos(std::move(peers));
}

// What broke the parent ends the child, too.
void end_child(const Parent& parent, const ChildGroup& group, LinkSet& child, const Status& broken) {
  Cause cause = broken.cause();
  const Rank peer = cause.peer;
  const auto is_peer = [&](Rank member) { return parent.parts.context->peer_of(member) == peer; };
  const auto found = std::ranges::find_if(group.members, is_peer);
  cause.peer = found == group.members.end() ? no_rank : static_cast<Rank>(found - group.members.begin());
  cause.rank = no_rank;
  child.executor().abort(Status(std::move(cause)), *child.executor().first());
}

// Until the child is made: in it, nobody would miss a member that dies before its neighbours are connected with it, or
// one that has heard of a death and does not come.
void end_with_parent(const Parent& parent, const ChildGroup& group, LinkSet& child, const std::stop_token& made) {
  constexpr std::chrono::milliseconds between_looks{2};
  while (!made.stop_requested()) {
    const Status broken = parent.parts.link_set->executor().broken();
    if (!broken.ok()) return end_child(parent, group, child, broken);
    sleep_unless_stopped(between_looks, made);
  }
}

// Over which transport all members reach each other as far as this rank can tell; empty: over several.
std::string transport_of(const Parent& parent, const ChildGroup& group) {
  std::vector<Direction> directions;
  for (const Rank member : group.members) {
    if (member != parent.parts.membership.rank()) directions.push_back({parent.parts.context->peer_of(member), true});
  }
  const std::string used = parent.parts.link_set->mesh().routes().transports_of(directions);
  return directions.empty() || used.find('+') != used.npos ? "" : used;
}

// What a member of a child has to itself, and not with its parent.
struct OwnLinks {
  std::shared_ptr<LinkSet> link_set;
  std::shared_ptr<Standby> standby;  // null: it is alone in the child
};

Result<OwnLinks> open_links(const Parent& parent, Options options, const ChildGroup& group) {
  OwnLinks own;
  if (options.size == 0) return own;
  const std::string transport = transport_of(parent, group);
  auto link_set =
      LinkSet::open(options, {.group = group.id, .regions = parent.regions, .says_name = true, .transport = transport});
  if (!link_set.ok()) return link_set.status();
  own.link_set = std::move(*link_set);
  if (options.size == 1) return own;
  if (!transport.empty()) options.transport = transport;
  auto standby = Standby::open(options, group.id);
  if (!standby.ok()) return standby.status();
  own.standby = std::move(*standby);
  return own;
}

PeerInfo child_info(const Parent& parent, const OwnLinks& own) {
  PeerInfo mine = self(parent);
  mine.endpoints = own.link_set ? own.link_set->mesh().endpoints() : std::vector<Endpoint>();
  mine.standby = own.standby ? own.standby->endpoints() : std::vector<Endpoint>();
  return mine;
}

// Connects the ring of a child, over which each rank's end is noticed, and sees that all are there.
Result<CommunicatorParts> connect_child_ring(const Parent& parent, const ChildGroup& group, const Options& options,
                                             SharedPeerInfos peers, const OwnLinks& own, Deadline deadline,
                                             const std::stop_token& stop) {
  const std::shared_ptr<LinkSet>& link_set = own.link_set;
  const AbortOnStop abort_on_stop(stop, link_set);
  const auto attendant = Attendant::start(
      [&parent, &group, link_set](const std::stop_token& made) { end_with_parent(parent, group, *link_set, made); });
  if (!attendant.ok()) return attendant.status();
  link_set->add_peers(*peers);
  if (own.standby) own.standby->know(*peers);
  std::vector<std::byte> all(static_cast<std::size_t>(options.size));
  if (Status status = allgather_on_ring(*link_set, all, deadline); !status.ok()) return status;
  auto parts = finalize(options, std::move(peers), link_set, deadline);
  if (parts.ok() && own.standby) parts->lineage = first_lineage(own.standby, group.id);
  return parts;
}

Result<Child> some(Result<CommunicatorParts> parts) {
  if (!parts.ok()) return parts.status();
  return Child(std::move(*parts));
}

// With the exception that is being handled: the others wait for this rank, or have a child with it by now.
Status break_parent(const Parent& parent) {
  const Status why = caught.status();
  parent.parts.link_set->executor().abort(why, *parent.parts.context);
  return why;
}

// A child with links of its own: its ranks tell each other where they can be reached now.
Result<Child> connect_child(const Parent& parent, const Options& options, const ChildGroup& group, Deadline deadline,
                            const std::stop_token& stop) {
  const bool in_child = options.size > 0;
  if (group.all_alone) {
    return in_child ? some(make_alone(options, self(parent), parent.regions, true)) : Child();
  }
  const auto own = caught_in([&] { return open_links(parent, options, group); });
  const Result<PeerInfo> mine = own.ok() ? Result<PeerInfo>(child_info(parent, *own)) : own.status();
  auto peers = exchange_over_parent(parent, mine, group.members, deadline);
  if (!own.ok()) return own.status();
  // A member that knows of no failure yet may dial this one, and would blame it.
  if (!peers.ok() && in_child) end_child(parent, group, *own->link_set, peers.status());
  if (!peers.ok()) return peers.status();
  if (!in_child) return Child();
  try {
    auto parts = connect_child_ring(parent, group, options, std::move(*peers), *own, deadline, stop);
    const Status broken = parent.parts.link_set->executor().broken();
    return parts.ok() || broken.ok() ? some(std::move(parts)) : broken;
  } catch (...) {
    Executor& executor = own->link_set->executor();
    executor.abort(break_parent(parent), *executor.first());
    throw;
  }
}

// A child on its parent's links; of one rank, it needs none.
Result<Child> on_links_of(const Parent& parent, Options options, const ChildGroup& group) {
  LinkSet& link_set = *parent.parts.link_set;
  const auto number = static_cast<std::uint32_t>(group.id);
  link_set.use_number(number);
  link_set.executor().say_names();
  if (group.members.empty()) return Child();
  if (group.members.size() == 1) return some(make_alone(options, self(parent), parent.regions, true));
  Context::Identity identity{.number = number, .name = options.name};
  auto peers = std::make_shared<std::vector<PeerInfo>>();
  for (const Rank member : group.members) {
    identity.peers.push_back(parent.parts.context->peer_of(member));
    peers->push_back(parent.parts.membership.peers()[static_cast<std::size_t>(member)]);
  }
  auto membership = Membership::make(std::move(options), std::move(peers));
  if (!membership.ok()) return membership.status();
  return Child(CommunicatorParts{.membership = std::move(*membership),
                                 .server = nullptr,
                                 .link_set = parent.parts.link_set,
                                 .context = link_set.executor().add(std::move(identity)),
                                 .window_use = nullptr});
}

// Whether a host of this rank's child lacks its window. Only where there are several do ranks have to ask.
Result<bool> somebody_lacks_window(const Parent& parent, const ChildGroup& group, bool lacks, Deadline deadline) {
  const Membership& membership = parent.parts.membership;
  if (membership.topology().hosts() == 1) return lacks;
  std::vector<std::byte> all(static_cast<std::size_t>(membership.size()));
  all[static_cast<std::size_t>(membership.rank())] = std::byte{lacks};
  if (Status asked = parent.allgather(all, deadline); !asked.ok()) return asked;
  return std::ranges::any_of(group.members,
                             [&](Rank member) { return all[static_cast<std::size_t>(member)] != std::byte{0}; });
}

// A child on its parent's links, and over windows of its ranks.
Result<Child> share_links(const Parent& parent, Options options, const ChildGroup& group, Deadline deadline) {
  auto child = on_links_of(parent, std::move(options), group);
  if (!child.ok()) return child;
  const bool is_shared = group.members.size() > 1;
  Result<HostWindow> here = HostWindow();
  if (is_shared) here = open_window_here(**child, deadline);
  if (!here.ok()) return here.status();
  const auto lacks = somebody_lacks_window(parent, group, here->is_lacking, deadline);
  if (!lacks.ok()) return lacks.status();
  if (is_shared && !*lacks) use_windows(**child, *here);
  return child;
}

}  // namespace

Result<Child> make_child(const Parent& parent, const SplitRequest& request, const std::stop_token& stop) {
  const CommunicatorParts& parts = parent.parts;
  const Options& options = parts.membership.options();
  const std::stop_callback abort_on_stop(stop, [&] { parts.link_set->abort(*parts.context, "a split was given up"); });
  const bool shares = request.arguments.links == LinkUse::parents;
  const auto deadline = Deadline::after(request.timeout.count() > 0 ? request.timeout : options.timeout);
  std::vector<SplitArguments> all(static_cast<std::size_t>(options.size));
  SplitArguments& own = all[static_cast<std::size_t>(options.rank)];
  own = request.arguments;
  own.id = shares ? parts.link_set->propose_number() : random_number();
  if (Status status = parent.allgather(std::as_writable_bytes(std::span(all)), deadline); !status.ok()) return status;
  try {
    const auto group = child_of(all, options.rank);
    if (!group.ok()) return group.status();
    Options given = options_of_child(parent, request, *group);
    if (!shares) return connect_child(parent, given, *group, deadline, stop);
    auto child = share_links(parent, std::move(given), *group, deadline);
    if (!child.ok()) parts.link_set->executor().abort(child.status(), *parts.context);  // the others wait for this rank
    return child;
  } catch (...) {
    return break_parent(parent);
  }
}

}  // namespace hocket::comm
