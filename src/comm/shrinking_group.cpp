// The new communicator of those who go on.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/base/caught.hpp"
#include "src/base/log.hpp"
#include "src/comm/attendant.hpp"
#include "src/comm/finalize.hpp"
#include "src/comm/local.hpp"
#include "src/comm/shrinking.hpp"

namespace hocket::comm {
Options Shrinking::new_options() const {
  Options options = from_.membership.options();
  options.store.clear();
  options.meeting.reset();
  options.callbacks.reset();
  const Ranks& members = regroup_.members();
  options.size = static_cast<Rank>(members.size());
  options.rank = place_of(standby_.rank());
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
    link_set_->add_peer(neighbours[i], *info);
  }
  return tell_on_ring(*link_set_, card_, patience_with_group());
}

// Its place in the group that is under way; it must be one of the members.
Rank Shrinking::place_of(Rank member) const {
  const Ranks& members = regroup_.members();
  return static_cast<Rank>(std::distance(members.begin(), members.find(member)));
}

Status Shrinking::without(Rank member, std::string_view what_it_did, bool ended) const {
  return Status(Cause{.code = Code::peer_lost,
                      .message = fmt::format("rank {} {}", rank_of(member), what_it_did),
                      .rank = no_rank,
                      .peer = place_of(member),
                      .ended = ended});
}

// What makes it pointless to go on making the group; ok: nothing. It is what a member reports that had made the group
// already, so it names who is missing there.
Status Shrinking::why_in_vain(const News& news) const {
  if (news.note && news.note->kind == Note::Kind::excluded) {
    return Status(Code::aborted, "others go on without this rank");
  }
  if (!regroup_.members().contains(news.from)) return {};
  if (!news.note) return without(news.from, "is gone", true);
  switch (news.note->kind) {
    case Note::Kind::come:
    case Note::Kind::leave: return without(news.from, "has begun anew", false);
    case Note::Kind::members:
      return news.from == regroup_.leader() ? without(news.from, "makes another group", false) : Status();
    default: return {};
  }
}

// Of the ranks before and after this one on the ring, whose ends nobody else would miss.
Status Shrinking::who_has_ended() {
  const std::vector<Rank> members(regroup_.members().begin(), regroup_.members().end());
  for (const Rank neighbour : neighbours_of(place_of(standby_.rank()), static_cast<Rank>(members.size()))) {
    const Rank member = members[static_cast<std::size_t>(neighbour)];
    if (has_ended(member)) return without(member, "is gone", true);
  }
  return {};
}

// While this rank makes the group: one that dies before it has connected to its neighbours in the group is missed by
// nobody there. A member that begins anew has mostly heard of a death and says so over its links, so that comes first.
void Shrinking::attend(const std::stop_token& made) {
  try {
    look_for_what_is_in_vain(made);
  } catch (...) {  // which may have lost a note
    const Status why = caught.status();
    standby_.leave(why);
    link_set_->executor().abort(why, *link_set_->executor().first());
  }
}

void Shrinking::look_for_what_is_in_vain(const std::stop_token& made) {
  Status left;
  while (!made.stop_requested()) {
    Status in_vain = who_has_ended();
    if (in_vain.ok()) in_vain = std::exchange(left, {});
    for (News& news : standby_.await(Deadline::after(look_around))) {
      const Status why = why_in_vain(news);
      if (!why.ok() && why.code() == Code::peer_lost && !why.cause().ended) {
        left = why;
      } else if (in_vain.ok()) {
        in_vain = why;
      }
      missed_.push_back(std::move(news));
    }
    if (!in_vain.ok()) link_set_->executor().abort(in_vain, *link_set_->executor().first());
  }
}

Result<CommunicatorParts> Shrinking::make_on_ring(const Options& options) {
  if (options.size == 1) return make_alone(options, card_, regions_, true);
  const AbortOnStop abort_on_stop(stop_, link_set_);
  const auto attendant = Attendant::start([this](const std::stop_token& made) { attend(made); });
  if (!attendant.ok()) return attendant.status();
  auto parts = caught_in([&]() -> Result<CommunicatorParts> {
    auto peers = meet_neighbours(options);
    return peers.ok() ? finalize(options, std::move(*peers), link_set_, patience_with_group()) : peers.status();
  });
  if (!parts.ok()) link_set_->executor().abort(parts.status(), *link_set_->executor().first());
  return parts;
}

Result<CommunicatorParts> Shrinking::make() {
  const Options options = new_options();
  auto parts = make_on_ring(options);
  const std::vector<Rank> members(regroup_.members().begin(), regroup_.members().end());
  link_set_.reset();
  if (!parts.ok()) {
    const Cause& cause = parts.status().cause();
    log::info(fmt::format("rank {} of \"{}\" begins anew to shrink it: {}", from_.membership.rank(),
                          from_.membership.name(), cause.message));
    const bool in_vain = cause.code == Code::timeout && cause.peer >= 0 && cause.peer < options.size;
    regroup_.made(false, in_vain ? members[static_cast<std::size_t>(cause.peer)] : no_rank);
    take(std::exchange(missed_, {}));
    return parts;
  }
  regroup_.made(true);
  // A member that has begun already to shrink what is made here, or to make it again, will be met in the next shrink.
  const auto is_for_the_next = [&](const News& one) {
    return one.note && (one.note->kind == Note::Kind::come || one.note->kind == Note::Kind::call) &&
           regroup_.members().contains(one.from);
  };
  for (News& one : std::exchange(missed_, {})) {
    is_for_the_next(one) ? standby_.keep(std::move(one)) : take({std::move(one)});
  }
  parts->lineage = {.standby = from_.lineage.standby,
                    .standby_ranks = members,
                    .group = regroup_.group(),
                    .generation = from_.lineage.generation + 1};
  for (const Rank member : members) parts->lineage.previous_ranks.push_back(rank_of(member));
  return parts;
}

}  // namespace hocket::comm
