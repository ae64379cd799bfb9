#include "transports/loopback/loopback_link.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "src/base/mismatch.hpp"

namespace hocket::loopback {
namespace {

constexpr std::size_t eager_bytes = 4096;  // up to here a copy is cheaper than waiting for the receiver

}  // namespace

LoopbackLink::LoopbackLink(LoopbackHub& hub, const TransportConfig& config, Rank peer, std::optional<Deadline> deadline)
    : hub_(hub),
      listener_(config.listener),
      rank_(config.rank),
      peer_(peer),
      deadline_(deadline),
      fault_(hub.fault(peer, config.rank)),
      wire_(hub.wire(config.rank, peer)),
      out_(wire_.directions[config.rank < peer ? 0 : 1]),
      in_(wire_.directions[config.rank < peer ? 1 : 0]),
      broken_here_(wire_.broken[config.rank < peer ? 0 : 1]),
      broken_there_(wire_.broken[config.rank < peer ? 1 : 0]),
      closed_(Code::aborted, fmt::format("the link to rank {} is closed", peer)),
      out_of_memory_(Cause{.code = Code::out_of_resources,
                           .message = fmt::format("memory ran out on rank {}", config.rank),
                           .rank = config.rank}) {
  const std::lock_guard lock(wire_.mutex);
  out_.opened = true;
  if (!in_.opened && !in_.goodbye && hub.mailbox(peer).state == Mailbox::State::gone && broken_here_.ok()) {
    broken_here_ = lost(rank_, peer_);
  }
}

void LoopbackLink::send(const Tag& tag, ConstBuffer from, Completion& completion) {
  if (ended_with_) {
    completion.done(*ended_with_);
    return;
  }
  Parcel parcel{.tag = tag, .data = from.data, .bytes = from.bytes, .copy = {}, .delay = 0};
  const bool eager = from.bytes <= eager_bytes;
  if (eager) parcel.copy.assign(from.data, from.data + from.bytes);
  {
    const std::lock_guard lock(wire_.mutex);
    parcel.delay = hub_.fault(rank_, peer_).delay;
    out_.parcels.push_back(std::move(parcel));
    ++out_.sent;
  }
  if (!eager) sent_.push_back({out_.sent, &completion});
  hub_.mailbox(peer_).ring();
  if (eager) completion.done(Status());
}

void LoopbackLink::recv(const Tag& tag, Buffer to, Completion& completion) {
  post({.tag = tag, .to = to, .completion = &completion});
}

void LoopbackLink::recv_reduce(const Tag& tag, ConstBuffer mine, Buffer to, const Reduction& reduction,
                               Completion& completion) {
  post({.tag = tag, .to = to, .mine = mine.data, .reduction = reduction, .completion = &completion});
}

std::optional<Tag> LoopbackLink::probe() {
  if (ended_with_ || !posted_.empty()) return std::nullopt;
  const std::lock_guard lock(wire_.mutex);
  if (in_.parcels.empty() || in_.parcels.front().delay > 0) return std::nullopt;
  told_ = in_.taken;
  return in_.parcels.front().tag;
}

void LoopbackLink::tell_waiting(const Waiting& what) {
  if (ended_with_) return;
  {
    const std::lock_guard lock(wire_.mutex);
    out_.waiting = what;
  }
  hub_.mailbox(peer_).ring();
}

void LoopbackLink::post(const Posted& posted) {
  if (ended_with_) {
    posted.completion->done(*ended_with_);
  } else {
    posted_.push_back(posted);
  }
}

std::size_t LoopbackLink::advance() {
  if (ended_with_) return awaits_word_ ? hear_last_word() : 0;
  Done done;
  Status failed, ending;
  bool left = false;
  std::optional<Waiting> told;
  {
    const std::lock_guard lock(wire_.mutex);
    told = std::exchange(in_.waiting, std::nullopt);
    collect_taken(done);
    take_parcels(done);  // before an end is noticed: what came before it counts
    if (broken_here_.ok() && !both_opened() && !in_.goodbye && deadline_ && deadline_->passed()) {
      const Status late(Cause{.code = Code::timeout,
                              .message = fmt::format("rank {} did not connect to rank {} in time", peer_, rank_),
                              .rank = rank_,
                              .peer = peer_});
      break_both(late, late);
    }
    failed = broken_here_;
    ending = failed;
    left = failed.ok() && in_.goodbye && in_.parcels.empty();
    if (left) {
      ending = Status(Cause{.code = Code::peer_lost,
                            .message = fmt::format("rank {} has left the group", peer_),
                            .rank = rank_,
                            .peer = peer_});
    }
    if (!ending.ok()) end(ending);
  }
  for (const auto& [completion, status] : done) completion->done(status);
  if (!ending.ok()) abandon(ending, ending);
  if (told) listener_->peer_waits(peer_, *told);
  if (!failed.ok()) {
    hub_.mailbox(peer_).ring();  // it need not wait for a word of this side
    listener_->peer_failed(peer_, failed);
  }
  if (left) listener_->peer_left(peer_);
  return done.size() + (failed.ok() ? 0 : 1) + (left ? 1 : 0);
}

void LoopbackLink::collect_taken(Done& done) {
  while (!sent_.empty() && sent_.front().number <= out_.taken) {
    done.emplace_back(sent_.front().completion, Status());
    sent_.pop_front();
  }
}

void LoopbackLink::take_parcels(Done& done) {
  while (!cut(nullptr) && !in_.parcels.empty()) {
    Parcel& parcel = in_.parcels.front();
    if (parcel.delay > 0) {
      --parcel.delay;
      return;
    }
    if (posted_.empty() || cut(&parcel)) return;
    const Posted posted = posted_.front();
    const MessageIdentity got{parcel.tag, parcel.bytes}, expected{posted.tag, posted.to.bytes};
    if (!(got == expected)) {
      const Status both = mismatch(rank_, peer_, got, expected, *listener_);
      break_both(both, both);
      return;
    }
    take_parcel(parcel, posted);
    posted_.pop_front();
    in_.parcels.pop_front();
    ++in_.taken;
    done.emplace_back(posted.completion, Status());
    hub_.mailbox(peer_).ring();
  }
}

void LoopbackLink::take_parcel(const Parcel& parcel, const Posted& posted) {
  if (parcel.bytes == 0) return;
  if (!posted.reduction.combines()) {
    std::memcpy(posted.to.data, parcel.content(), parcel.bytes);
    return;
  }
  posted.reduction.combine_part(posted.to.data, posted.mine, 0, parcel.content(), parcel.bytes);
}

// The injected loss: between messages, or in the midst of `next`.
bool LoopbackLink::cut(const Parcel* next) {
  if (in_.taken < fault_.messages || fault_.mid_message != (next != nullptr)) return false;
  if (next != nullptr) {
    const Posted& posted = posted_.front();
    const std::size_t half = std::min(next->bytes, posted.to.bytes) / 2;
    if (half > 0) std::memcpy(posted.to.data, next->content(), half);
  }
  break_both(lost(rank_, peer_), lost(peer_, rank_));
  return true;
}

void LoopbackLink::break_both(const Status& as_we_see_it, const Status& as_peer_sees_it) {
  if (broken_here_.ok()) broken_here_ = as_we_see_it;
  if (broken_there_.ok()) broken_there_ = as_peer_sees_it;
  hub_.mailbox(peer_).raise();
}

Status LoopbackLink::lost(Rank seen_by, Rank who) const {
  return Status(Cause{.code = Code::peer_lost,
                      .message = fmt::format("rank {} is gone (its loopback link ended without goodbye)", who),
                      .rank = seen_by,
                      .peer = who});
}

bool LoopbackLink::ready(bool listening) {
  if (ended_with_ && !awaits_word_) return false;
  const std::lock_guard lock(wire_.mutex);
  if (!broken_here_.ok()) return true;
  if (ended_with_) return false;
  if (!sent_.empty() && sent_.front().number <= out_.taken) return true;
  if (in_.waiting) return true;
  if (in_.parcels.empty()) return in_.goodbye;
  if (!posted_.empty() || in_.parcels.front().delay > 0) return true;
  return listening && told_ != in_.taken;
}

bool LoopbackLink::up() {
  const std::lock_guard lock(wire_.mutex);
  return both_opened() && !ended_with_ && broken_here_.ok();
}

std::optional<Deadline> LoopbackLink::deadline() {
  if (ended_with_) return std::nullopt;
  const std::lock_guard lock(wire_.mutex);
  return both_opened() ? std::nullopt : deadline_;
}

}  // namespace hocket::loopback
