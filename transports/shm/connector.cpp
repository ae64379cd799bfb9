#include "transports/shm/connector.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace hocket::shm {
namespace {

using std::chrono_literals::operator""ms;

constexpr std::size_t strangers_max = 64;  // connections from others than the ranks that dial this one
constexpr auto dial_pause = 5ms;           // until the next attempt, where too many dial at once

}  // namespace

Connector::Connector(const TransportConfig& config, const LinkContext& context, UniqueFd listener, int wake_event)
    : config_(config),
      context_(context),
      listener_(std::move(listener)),
      wake_event_(wake_event),
      accept_guard_(config),
      by_rank_(static_cast<std::size_t>(config.size)) {
  keep_from_children(listener_.get());
}

ShmLink& Connector::make_link(Rank peer) {
  auto& link = by_rank_[static_cast<std::size_t>(peer)];
  link = std::make_unique<ShmLink>(context_, peer);
  links_.push_back(link.get());
  ++watch_epoch_;
  return *link;
}

ShmLink& Connector::link_to(Rank peer, std::optional<Deadline> deadline) {
  if (ShmLink* const link = by_rank_[static_cast<std::size_t>(peer)].get()) return *link;
  ShmLink& link = make_link(peer);
  const bool dials = config_.rank > peer;
  if (!dials && !deadline) return link;  // the peer may come at any time
  const Deadline until = deadline.value_or(Deadline(Deadline::Clock::time_point::max()));
  expected_.push_back({&link, Deadline::Clock::now(), until, deadline.has_value(), std::nullopt});
  if (dials) {
    expected_.back().dial.emplace(Hello{config_.group, config_.rank, peer}, wake_event_, config_.secret);
    step_expected();
  }
  return link;
}

bool Connector::connected(Rank peer) const {
  if (peer < 0 || peer >= config_.size) return false;
  const auto& link = by_rank_[static_cast<std::size_t>(peer)];
  return link && link->up();
}

void Connector::attach(ShmLink& link, Connection connection) {
  link.attach(std::move(connection));
  if (shut_down_with_) link.close(*shut_down_with_);
  news_ = true;
  ++watch_epoch_;
}

std::size_t Connector::step() {
  return step_greetings() + step_expected();
}

// ---- peers that dial this rank --------------------------------------------------------------------------------------

void Connector::close_door() {
  listener_.reset();
  greetings_.clear();
  ++watch_epoch_;
}

// All ranks that dial this one may come at once, and say hello when they get their turn on a busy machine.
std::size_t Connector::greetings_max() const {
  return strangers_max + static_cast<std::size_t>(config_.size - config_.rank);
}

void Connector::accept() {
  while (true) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd) {
      make_room(
          greetings_, greetings_max(), [&] { step_greetings(); },
          [&](const Greeting& greeting, const std::string& why) { refuse(greeting, why); });
      greetings_.emplace_back(std::move(fd), accept_guard_, wake_event_);
      ++watch_epoch_;
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) lack_descriptors(errno, accept_guard_, expected_);
    return;
  }
}

std::size_t Connector::step_greetings() {
  return hocket::step_greetings(
      greetings_, [&](Greeting& greeting) { return admit(greeting); },
      [&](const Greeting& greeting, const std::string& why) { refuse(greeting, why); });
}

// Lets a peer in, or says why not.
std::string Connector::admit(Greeting& greeting) {
  const Hello& hello = greeting.hello();
  if (std::string objection = accept_guard_.objection(hello.group, hello.from, hello.to); !objection.empty()) {
    return objection;
  }
  ShmLink* link = by_rank_[static_cast<std::size_t>(hello.from)].get();
  if (link != nullptr && link->attached()) return fmt::format("rank {} is connected already", hello.from);
  if (link == nullptr) link = &make_link(hello.from);
  std::erase_if(expected_, [&](const Expected& expected) { return expected.link == link; });
  attach(*link, std::move(greeting).welcome());
  return "";
}

void Connector::refuse(const Greeting& greeting, const std::string& why) {
  if (greeting.lacked_descriptors()) lack_descriptors(EMFILE, accept_guard_, expected_);
  accept_guard_.log_refusal(fmt::format("{} {}", greeting.uid(), greeting.pid()),
                            fmt::format("process {}", greeting.pid()), why);
}

// ---- peers that are expected ----------------------------------------------------------------------------------------

bool Connector::has_greeted() const {
  return std::ranges::any_of(
      expected_, [](const Expected& expected) { return expected.dial && expected.dial->interest().fd >= 0; });
}

std::size_t Connector::step_expected() {
  return erase_each(expected_, [&](Expected& expected) { return step(expected); });
}

// Whether the link is connected or given up now.
bool Connector::step(Expected& expected) {
  ShmLink& link = *expected.link;
  const auto too_late = [&] {
    if (!expected.deadline.passed()) return false;
    expected.time_out(config_.rank,
                      fmt::format("rank {} did not connect to rank {} in time: see whether its process runs",
                                  link.peer(), config_.rank));
    return true;
  };
  if (!expected.dial) return too_late();
  const int socket = expected.dial->interest().fd;
  const Handshake now = expected.dial->step();
  if (expected.dial->interest().fd != socket) ++watch_epoch_;
  switch (now) {
    case Handshake::waiting: return too_late();
    case Handshake::done: attach(link, expected.dial->take()); return true;
    case Handshake::failed: break;
  }
  const Code code = expected.dial->code();
  const std::string_view advice =
      code == Code::out_of_resources ? "see `ulimit -n`" : "its process has ended, or lives in another container";
  expected.doubt(fmt::format("rank {} cannot be reached through shared memory ({}): {}", link.peer(),
                             expected.dial->problem(), advice),
                 code, expected.dial->refused());
  ++watch_epoch_;
  return false;
}

// ---- waiting --------------------------------------------------------------------------------------------------------

void Connector::append_interests(std::vector<pollfd>& interests) const {
  if (accept_guard_.open()) interests.push_back(listening());
  for (const Greeting& greeting : greetings_) interests.push_back(greeting.interest());
  for (const Expected& expected : expected_) {
    if (expected.dial && expected.dial->interest().fd >= 0) interests.push_back(expected.dial->interest());
  }
}

std::optional<Deadline> Connector::next_deadline() const {
  std::optional<Deadline> next;
  const auto consider = [&](Deadline deadline) { next = next ? earlier(*next, deadline) : deadline; };
  for (const Greeting& greeting : greetings_) consider(greeting.deadline());
  for (const Expected& expected : expected_) {
    consider(expected.deadline);
    if (expected.dial && expected.dial->interest().fd < 0) consider(Deadline::after(dial_pause));
  }
  if (const auto opens = accept_guard_.opens_at()) consider(*opens);
  return next;
}

}  // namespace hocket::shm
