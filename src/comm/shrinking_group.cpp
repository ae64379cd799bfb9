// The new communicator of those who go on.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <system_error>
#include <thread>

#include "src/base/log.hpp"
#include "src/base/signals_blocked.hpp"
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
  return tell_on_ring(*link_set_, card_, patience_with_group());
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

// Of the ranks before and after this one on the ring, whose ends nobody else would miss.
std::string Shrinking::who_has_ended() const {
  const std::vector<Rank> members(regroup_.members().begin(), regroup_.members().end());
  const auto at = static_cast<Rank>(std::ranges::find(members, standby_.rank()) - members.begin());
  for (const Rank neighbour : neighbours_of(at, static_cast<Rank>(members.size()))) {
    const Rank rank = members[static_cast<std::size_t>(neighbour)];
    if (has_ended(rank)) return fmt::format("rank {} is gone", rank_of(rank));
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
    attendant = std::jthread([this](const std::stop_token& made) {
      try {
        attend(made);
      } catch (const std::exception&) {  // memory ran out: the deadline is left to end it
      }
    });
  } catch (const std::system_error&) {
    return Status(Code::out_of_resources, "no thread is left; see `ulimit -u`");
  }
  auto peers = meet_neighbours(options);
  auto parts = peers.ok() ? finalize(options, std::move(*peers), link_set_, patience_with_group()) : peers.status();
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

}  // namespace hocket::comm
