#include "transports/tcp/tcp_transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

namespace hocket::tcp {
namespace {

constexpr std::size_t staging_bytes = std::size_t{128} << 10;  // half of it in a small L2 is what two sockets leave
constexpr std::size_t strangers_max = 64;                      // newcomers who say nothing, besides ranks
constexpr unsigned calls_per_look = 64;

}  // namespace

Result<std::unique_ptr<Transport>> make_transport(const TransportConfig& config) {
  auto host = LocalHost::from_environment();
  if (!host) return host.status();
  const auto settings = Settings::from_environment(config.streams);
  if (!settings) return settings.status();
  auto listening = listen_anywhere(*settings);
  if (!listening) return listening.status();
  return std::unique_ptr<Transport>(
      std::make_unique<TcpTransport>(config, *settings, std::move(*listening), std::move(*host)));
}

TcpTransport::TcpTransport(const TransportConfig& config, const Settings& settings, ListeningSocket listening,
                           LocalHost host)
    : config_(config),
      settings_(settings),
      context_{config.rank, config.listener, std::vector<std::byte>(staging_bytes)},
      listener_(std::move(listening.fd)),
      host_(std::move(host)),
      address_(encode(host_.advertise(listening.port, settings.streams))),
      accept_guard_(config_),
      by_rank_(static_cast<std::size_t>(config.size)) {}

bool TcpTransport::reaches(const Address& address) const {
  return parse_reachability(address).has_value();
}

Result<Link*> TcpTransport::connect(Rank peer, const Address& address, std::optional<Deadline> deadline) {
  if (peer < 0 || peer >= config_.size || peer == config_.rank) {
    return Status(Code::invalid_argument,
                  fmt::format("rank {} cannot connect to rank {} in a group of {}", config_.rank, peer, config_.size));
  }
  TcpLink* link = by_rank_[static_cast<std::size_t>(peer)].get();
  const auto same_link = [&](const Expected& expected) { return expected.link == link; };
  if (link != nullptr && (link->complete() || link->failed() || std::ranges::any_of(expected_, same_link))) return link;
  const auto theirs = parse_reachability(address);
  if (!theirs) {
    return Status(Code::invalid_argument, fmt::format("what rank {} advertises is no TCP address of Hocket's", peer));
  }
  if (link == nullptr) link = &make_link(peer, std::max(settings_.streams, theirs->streams));
  const bool dials = config_.rank > peer;
  if (!dials && !deadline) return link;  // the peer may come at any time
  const Deadline until = deadline.value_or(Deadline(Deadline::Clock::time_point::max()));
  expected_.push_back({{link, Deadline::Clock::now(), until, deadline.has_value(), std::nullopt}, 0});
  if (dials) {
    const Hello hello{HelloKind::hello, config_.group, config_.rank, peer, {0, link->streams()}};
    expected_.back().dial.emplace(hello, host_.candidates(*theirs), until, settings_);
  }
  return link;
}

// The first stream of a link stands: the others go the same way.
void TcpTransport::dial_more(const Expected& first) {
  for (std::uint16_t stream = 1; stream < first.link->streams(); ++stream) {
    const Hello hello{
        HelloKind::hello, config_.group, config_.rank, first.link->peer(), {stream, first.link->streams()}};
    more_.push_back({{first.link, first.since, first.deadline, true, std::nullopt}, stream});
    more_.back().dial.emplace(hello, std::vector{first.dial->endpoint()}, first.deadline, settings_);
  }
}

TcpLink& TcpTransport::make_link(Rank peer, std::uint16_t streams) {
  auto& link = by_rank_[static_cast<std::size_t>(peer)];
  link = std::make_unique<TcpLink>(context_, peer, streams);
  links_.push_back(link.get());
  ++watch_epoch_;
  return *link;
}

void TcpTransport::attach(TcpLink& link, std::uint16_t stream, UniqueFd fd, std::string address) {
  link.attach(stream, std::move(fd), std::move(address));
  if (shut_down_with_) link.close(*shut_down_with_);
  look_ = true;
  ++watch_epoch_;
}

bool TcpTransport::connected(Rank peer) const {
  if (peer < 0 || peer >= config_.size) return false;
  const auto& link = by_rank_[static_cast<std::size_t>(peer)];
  return link && link->up();
}

std::size_t TcpTransport::progress() {
  std::size_t happened = 0;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (links_[i]->busy() || links_[i]->ready()) happened += links_[i]->advance();
  }
  if (((look_ || listening_) && happened == 0) || unsettled() || ++calls_ % calls_per_look == 0)
    happened += look_round();
  return happened;
}

// Asks the kernel once about everything that progress() does not touch every time.
std::size_t TcpTransport::look_round() {
  look_ = false;
  polled_.clear();
  polled_.push_back({accept_guard_.open() ? listener_.get() : -1, POLLIN, 0});
  for (const TcpLink* link : links_) {
    for (std::size_t stream = 0; stream < link->streams(); ++stream) {
      const short events = link->interest(stream);
      polled_.push_back({events != 0 ? link->fd(stream) : -1, events, 0});
    }
  }
  std::size_t happened = 0;
  if (::poll(polled_.data(), polled_.size(), 0) > 0) {
    std::size_t next = 1;
    for (TcpLink* link : links_) {
      for (std::size_t stream = 0; stream < link->streams(); ++stream) {
        if (const short events = polled_[next++].revents; events != 0) happened += link->look(stream, events);
      }
    }
    if (polled_.front().revents != 0) answer_door();
  }
  return happened + step_greetings() + step_expected();
}

// All ranks that dial this one may come at once, and say hello when they get their turn on a busy machine.
std::size_t TcpTransport::greetings_max() const {
  return strangers_max + static_cast<std::size_t>(config_.size - config_.rank) * settings_.streams;
}

void TcpTransport::answer_door() {
  while (true) {
    Accepted accepted = accept_from(listener_.get());
    if (accepted.fd) {
      if (greetings_.size() >= greetings_max()) step_greetings();  // who has said hello meanwhile goes in
      if (greetings_.size() >= greetings_max()) {
        refuse(greetings_.front(), "too many others wait");
        greetings_.erase(greetings_.begin());
      }
      greetings_.emplace_back(std::move(accepted.fd), accepted.from);
      ++watch_epoch_;
      continue;
    }
    if (accepted.error == EAGAIN || accepted.error == EWOULDBLOCK) return;
    accept_guard_.shut(accepted.error);
    return;
  }
}

std::size_t TcpTransport::step_greetings() {
  return hocket::step_greetings(
      greetings_, [&](Greeting& greeting) { return admit(greeting); },
      [&](const Greeting& greeting, const std::string& why) { refuse(greeting, why); });
}

// Lets a newcomer in, or says why not.
std::string TcpTransport::admit(Greeting& greeting) {
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
  UniqueFd fd = std::move(greeting).welcome(config_.rank, settings_);
  if (!fd) return "";  // it has given up meanwhile
  if (link == nullptr) link = &make_link(from, stream.of);
  attach(*link, stream.index, std::move(fd), address);
  if (link->complete()) std::erase_if(expected_, [&](const Expected& expected) { return expected.link == link; });
  return "";
}

void TcpTransport::refuse(const Greeting& greeting, const std::string& why) {
  accept_guard_.log_refusal(greeting.from().ip_text(), greeting.from().text(), why);
}

std::size_t TcpTransport::step_expected() {
  const std::size_t settled = std::erase_if(expected_, [&](Expected& expected) { return step(expected); });
  std::ranges::move(more_, std::back_inserter(expected_));
  more_.clear();
  return settled;
}

// Whether the link is connected or given up now.
bool TcpTransport::step(Expected& expected) {
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
  expected.doubt(fmt::format("rank {} cannot be reached ({}): its process has ended, or this host has no way to it",
                             link.peer(), dial.problem()));
  ++watch_epoch_;
  return false;
}

bool TcpTransport::arm(std::vector<pollfd>& interests) {
  for (const TcpLink* link : links_) {
    if (link->ready()) return false;
  }
  for (const TcpLink* link : links_) {
    for (std::size_t stream = 0; stream < link->streams(); ++stream) {
      if (const short events = link->interest(stream); events != 0) interests.push_back({link->fd(stream), events, 0});
    }
  }
  if (accept_guard_.open()) interests.push_back({listener_.get(), POLLIN, 0});
  for (const Greeting& greeting : greetings_) interests.push_back(greeting.interest());
  for (const Expected& expected : expected_) {
    if (!expected.dial) continue;
    if (!expected.dial->started()) return false;
    expected.dial->watch(interests);
  }
  return true;
}

void TcpTransport::watch(std::vector<pollfd>& interests) {
  for (const TcpLink* link : links_) {
    for (std::size_t stream = 0; stream < link->streams(); ++stream) {
      const short events = link->end_interest(stream);
      if (events != 0) interests.push_back({link->fd(stream), events, 0});
    }
  }
  if (accept_guard_.open()) interests.push_back({listener_.get(), POLLIN, 0});
  for (const Greeting& greeting : greetings_) interests.push_back(greeting.interest());
  for (const Expected& expected : expected_) {
    if (expected.dial && expected.dial->started()) expected.dial->watch(interests);
  }
  look_ = true;
}

std::optional<Deadline> TcpTransport::next_deadline() const {
  std::optional<Deadline> next;
  const auto consider = [&](Deadline deadline) { next = next ? earlier(*next, deadline) : deadline; };
  for (const Greeting& greeting : greetings_) consider(greeting.deadline());
  for (const Expected& expected : expected_) {
    consider(expected.dial ? expected.dial->deadline() : expected.deadline);
  }
  if (const auto opens = accept_guard_.opens_at()) consider(*opens);
  return next;
}

bool TcpTransport::still_talking(bool await_peers) const {
  const auto greeted = [](const Expected& expected) { return expected.dial && expected.dial->has_greeted(); };
  if (await_peers && std::ranges::any_of(expected_, greeted)) return true;  // else the peer only sees a reset
  return std::any_of(links_.begin(), links_.end(), [&](const TcpLink* link) {
    return link->attached() && (link->flushing() || (await_peers && !link->ended()));
  });
}

void TcpTransport::shut_down(const Status& why, Deadline deadline) {
  shut_down_with_ = why;
  for (TcpLink* link : links_) link->close(why);
  // A socket that is closed with unread bytes resets the connection and may take our last words with it. So after a
  // failure everything is read until the peers have closed as well.
  const bool await_peers = !why.ok();
  constexpr int acknowledgement_ms = 2;  // no poll(2) tells of one
  const auto unacknowledged = [&] { return std::ranges::any_of(links_, &TcpLink::unacknowledged); };
  std::vector<pollfd> interests;
  for (look_round(); !deadline.passed(); look_round()) {
    const bool talking = still_talking(await_peers);
    if (!talking && !unacknowledged()) break;
    interests.clear();
    if (!arm(interests)) continue;
    const auto next = next_deadline();
    const int rest_ms = (next ? earlier(*next, deadline) : deadline).remaining_ms();
    ::poll(interests.data(), interests.size(), talking ? rest_ms : std::min(rest_ms, acknowledgement_ms));
  }
  const Status given_up = why.ok() ? Status(Code::aborted, "the transport was shut down before this was sent") : why;
  for (TcpLink* link : links_) link->fail(given_up, false);
}

}  // namespace hocket::tcp
