#include "transports/tcp/connector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "transports/tcp/sockets.hpp"

namespace hocket::tcp {
namespace {

constexpr std::size_t strangers_max = 64;  // connections from others than the ranks that dial this one

}  // namespace

Connector::Connector(const TransportConfig& config, const Settings& settings, LinkContext& context,
                     std::vector<UniqueFd> listeners)
    : config_(config),
      settings_(settings),
      context_(context),
      listeners_(std::move(listeners)),
      accept_guard_(config),
      by_rank_(static_cast<std::size_t>(config.size)) {}

bool Connector::has_begun(const TcpLink& link) const {
  const auto awaited = [&](const Expected& expected) { return expected.link == &link; };
  return link.complete() || link.failed() || std::ranges::any_of(expected_, awaited);
}

TcpLink& Connector::link_to(Rank peer, std::uint16_t streams, std::vector<Endpoint> endpoints,
                            std::optional<Deadline> deadline) {
  TcpLink* link = find(peer);
  if (link == nullptr) link = &make_link(peer, streams);
  const bool dials = config_.rank > peer;
  if (!dials && !deadline) return *link;  // the peer may come at any time
  const Deadline until = deadline.value_or(Deadline(Deadline::Clock::time_point::max()));
  expected_.push_back({{link, Deadline::Clock::now(), until, deadline.has_value(), std::nullopt}, 0});
  if (dials) {
    const Hello hello{HelloKind::hello, config_.group, config_.rank, peer, {0, link->streams()}};
    expected_.back().dial.emplace(hello, std::move(endpoints), until, settings_, config_.secret);
  }
  return *link;
}

// The first stream of a link stands: the others go the same way.
void Connector::dial_more(const Expected& first) {
  for (std::uint16_t stream = 1; stream < first.link->streams(); ++stream) {
    const Hello hello{
        HelloKind::hello, config_.group, config_.rank, first.link->peer(), {stream, first.link->streams()}};
    more_.push_back({{first.link, first.since, first.deadline, true, std::nullopt}, stream});
    more_.back().dial.emplace(hello, std::vector{first.dial->endpoint()}, first.deadline, settings_, config_.secret);
  }
}

TcpLink& Connector::make_link(Rank peer, std::uint16_t streams) {
  auto& link = by_rank_[static_cast<std::size_t>(peer)];
  link = std::make_unique<TcpLink>(context_, peer, streams);
  links_.push_back(link.get());
  ++watch_epoch_;
  return *link;
}

void Connector::attach(TcpLink& link, std::uint16_t stream, Socket socket, std::string address) {
  link.attach(stream, std::move(socket), std::move(address));
  if (shut_down_with_) link.close(*shut_down_with_);
  news_ = true;
  ++watch_epoch_;
}

bool Connector::connected(Rank peer) const {
  if (peer < 0 || peer >= config_.size) return false;
  const auto& link = by_rank_[static_cast<std::size_t>(peer)];
  return link && link->up();
}

std::size_t Connector::step() {
  return step_greetings() + step_expected();
}

// ---- peers that dial this rank --------------------------------------------------------------------------------------

void Connector::close_door() {
  listeners_.clear();
  greetings_.clear();
  ++watch_epoch_;
}

// All ranks that dial this one may come at once, and say hello when they get their turn on a busy machine.
std::size_t Connector::greetings_max() const {
  return strangers_max + static_cast<std::size_t>(config_.size - config_.rank) * settings_.streams;
}

void Connector::accept() {
  for (const UniqueFd& listener : listeners_) accept_at(listener.get());
}

void Connector::accept_at(int listener) {
  while (true) {
    Accepted accepted = accept_from(listener);
    if (accepted.fd) {
      make_room(
          greetings_, greetings_max(), [&] { step_greetings(); },
          [&](const Greeting& greeting, const std::string& why) { refuse(greeting, why); });
      greetings_.emplace_back(std::move(accepted.fd), accepted.from, accept_guard_, settings_);
      ++watch_epoch_;
      continue;
    }
    if (accepted.error == EAGAIN || accepted.error == EWOULDBLOCK) return;
    lack_descriptors(accepted.error, accept_guard_, expected_);
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
  TcpLink* link = by_rank_[static_cast<std::size_t>(hello.from)].get();
  const StreamNumber stream = hello.stream;
  const bool agreed = link != nullptr ? stream.of == link->streams() : stream.of >= settings_.streams;
  if (!agreed) return fmt::format("rank {} wants {} streams, which was not agreed", hello.from, stream.of);
  if (link == nullptr && stream.index != 0) return fmt::format("rank {} has not opened stream 0", hello.from);
  if (link != nullptr && link->attached(stream.index)) return fmt::format("rank {} is connected already", hello.from);
  const Rank from = hello.from;
  const std::string address = greeting.from().text();
  Socket socket = std::move(greeting).welcome(config_.rank, settings_);
  if (!socket) return "";  // it has given up meanwhile
  if (link == nullptr) link = &make_link(from, stream.of);
  attach(*link, stream.index, std::move(socket), address);
  if (link->complete()) std::erase_if(expected_, [&](const Expected& expected) { return expected.link == link; });
  return "";
}

void Connector::refuse(const Greeting& greeting, const std::string& why) {
  accept_guard_.log_refusal(greeting.from().ip_text(), greeting.from().text(), why);
}

// ---- peers that are expected ----------------------------------------------------------------------------------------

bool Connector::has_greeted() const {
  return std::ranges::any_of(expected_,
                             [](const Expected& expected) { return expected.dial && expected.dial->has_greeted(); });
}

std::size_t Connector::step_expected() {
  const std::size_t settled = erase_each(expected_, [&](Expected& expected) { return step(expected); });
  std::ranges::move(more_, std::back_inserter(expected_));
  more_.clear();
  return settled;
}

// Whether the link is connected or given up now.
bool Connector::step(Expected& expected) {
  TcpLink& link = *expected.link;
  if (link.attached() && link.failed()) return true;  // what was to be said has been said on the first stream
  if (!expected.dial) {
    if (!expected.deadline.passed()) return false;
    expected.time_out(config_.rank,
                      fmt::format("rank {} did not connect to rank {} in time: see whether its process runs and can "
                                  "reach this host",
                                  link.peer(), config_.rank));
    return true;
  }
  Dial& dial = *expected.dial;
  const std::uint64_t before = dial.watch_epoch();
  const Handshake now = dial.step();
  watch_epoch_ += dial.watch_epoch() - before;
  switch (now) {
    case Handshake::waiting: return false;
    case Handshake::done:
      if (expected.stream == 0) dial_more(expected);
      attach(link, expected.stream, dial.take(), dial.endpoint().text());
      return true;
    case Handshake::failed: break;
  }
  if (dial.timed_out()) {
    expected.give_up(config_.rank, Code::timeout,
                     fmt::format("rank {} could not be connected in time ({}): see whether its process runs "
                                 "and a firewall lets it through",
                                 link.peer(), dial.problem()));
    return true;
  }
  const std::string_view advice = dial.code() == Code::out_of_resources
                                      ? "see `ulimit -n`"
                                      : "its process has ended, or this host has no way to it";
  expected.doubt(fmt::format("rank {} cannot be reached ({}): {}", link.peer(), dial.problem(), advice), dial.code(),
                 dial.refused());
  ++watch_epoch_;
  return false;
}

// ---- waiting --------------------------------------------------------------------------------------------------------

void Connector::append_listeners(std::vector<pollfd>& interests) const {
  if (!accept_guard_.open()) return;
  for (const UniqueFd& listener : listeners_) interests.push_back({listener.get(), POLLIN, 0});
}

bool Connector::all_started() const {
  return std::ranges::all_of(expected_,
                             [](const Expected& expected) { return !expected.dial || expected.dial->started(); });
}

void Connector::append_interests(std::vector<pollfd>& interests) const {
  append_listeners(interests);
  for (const Greeting& greeting : greetings_) interests.push_back(greeting.interest());
  for (const Expected& expected : expected_) {
    if (expected.dial && expected.dial->started()) expected.dial->watch(interests);
  }
}

std::optional<Deadline> Connector::next_deadline() const {
  std::optional<Deadline> next;
  const auto consider = [&](Deadline deadline) { next = next ? earlier(*next, deadline) : deadline; };
  for (const Greeting& greeting : greetings_) consider(greeting.deadline());
  for (const Expected& expected : expected_) {
    consider(expected.dial ? expected.dial->deadline() : expected.deadline);
  }
  if (const auto opens = accept_guard_.opens_at()) consider(*opens);
  return next;
}

}  // namespace hocket::tcp
