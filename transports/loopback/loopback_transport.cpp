#include "transports/loopback/loopback_transport.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "transports/loopback/loopback_wire.hpp"

namespace hocket::loopback {
LoopbackTransport::LoopbackTransport(std::shared_ptr<LoopbackHub> hub, const TransportConfig& config)
    : hub_(std::move(hub)),
      config_(config),
      address_(hub_->name() + std::to_string(config.rank)),
      mailbox_(hub_->mailbox(config.rank)),
      links_(static_cast<std::size_t>(config.size)) {}

LoopbackTransport::~LoopbackTransport() {
  if (down_) return;
  mailbox_.state = Mailbox::State::gone;
  const Status died(
      Cause{.code = Code::peer_lost,
            .message = fmt::format("rank {} is gone (its loopback link ended without goodbye)", config_.rank),
            .rank = no_rank,
            .peer = config_.rank});
  leave_unconnected(died);
}

bool LoopbackTransport::reaches(const Address& address) const {
  return address.starts_with(hub_->name());
}

Result<Link*> LoopbackTransport::connect(Rank peer, const Address& address, std::optional<Deadline> deadline) {
  if (peer < 0 || peer >= config_.size || peer == config_.rank) {
    return Status(Code::invalid_argument,
                  fmt::format("rank {} cannot connect to rank {} in a group of {}", config_.rank, peer, config_.size));
  }
  if (!reaches(address)) {
    return Status(Code::invalid_argument, fmt::format("what rank {} advertises is not on this loopback hub", peer));
  }
  auto& link = links_[static_cast<std::size_t>(peer)];
  if (!link) {
    link = std::make_unique<LoopbackLink>(*hub_, config_, peer, deadline);
    hub_->mailbox(peer).raise();
  }
  return link.get();
}

bool LoopbackTransport::connected(Rank peer) const {
  if (peer < 0 || peer >= config_.size) return false;
  const auto& link = links_[static_cast<std::size_t>(peer)];
  return link && link->up();
}

std::size_t LoopbackTransport::progress() {
  mailbox_.quiet();
  std::size_t happened = 0;
  for (const auto& link : links_) {
    if (link) happened += link->advance();
  }
  return happened;
}

bool LoopbackTransport::arm(std::vector<pollfd>& interests) {
  {
    const std::lock_guard lock(mailbox_.mutex);
    mailbox_.armed = true;
  }
  if (std::ranges::any_of(links_, [&](const auto& link) { return link && link->ready(listening_); })) {
    mailbox_.quiet();
    return false;
  }
  interests.push_back({mailbox_.wake_event.get(), POLLIN, 0});
  return true;
}

void LoopbackTransport::disarm() {
  const std::lock_guard lock(mailbox_.mutex);
  mailbox_.armed = false;
}

void LoopbackTransport::watch(std::vector<pollfd>& interests) {
  interests.push_back({mailbox_.alarm.get(), POLLIN, 0});
}

std::optional<Deadline> LoopbackTransport::next_deadline() const {
  std::optional<Deadline> next;
  for (const auto& link : links_) {
    const auto deadline = link ? link->deadline() : std::nullopt;
    if (deadline) next = next ? earlier(*next, *deadline) : *deadline;
  }
  return next;
}

// Tells the peers that may still connect to this rank, or have been left without a word: goodbye, or why not.
void LoopbackTransport::leave_unconnected(const Status& why) {
  for (Rank peer = 0; peer < config_.size; ++peer) {
    if (peer == config_.rank) continue;
    Wire& wire = hub_->wire(config_.rank, peer);
    {
      const std::lock_guard lock(wire.mutex);
      const std::size_t mine = config_.rank < peer ? 0 : 1;
      if (wire.directions[mine].goodbye) continue;
      wire.directions[mine].withdraw();
      if (why.ok()) wire.directions[mine].goodbye = true;
      Status& theirs = wire.broken[1 - mine];
      if (!why.ok() && theirs.ok()) theirs = why;
    }
    hub_->mailbox(peer).raise();
  }
}

void LoopbackTransport::shut_down(const Status& why, Deadline) {
  down_ = true;
  for (const auto& link : links_) {
    if (link) link->close(why);
  }
  leave_unconnected(why);
  mailbox_.state = Mailbox::State::gone;  // a rank that connects from now on has found the word already
}

Result<std::unique_ptr<Transport>> make_transport(const TransportConfig& config) {
  return LoopbackHub::of_group(config.group, config.size)->make_transport(config);
}

}  // namespace hocket::loopback
