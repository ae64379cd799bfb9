#include "transports/tcp/tcp_transport.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace hocket::tcp {
namespace {

constexpr std::size_t staging_bytes = std::size_t{128} << 10;  // half of it in a small L2 is what two sockets leave
constexpr unsigned calls_per_look = 64;
constexpr unsigned calls_per_look_at_the_door = 4096;  // where there are no links: others spin meanwhile

}  // namespace

Result<std::unique_ptr<Transport>> make_transport(const TransportConfig& config) {
  auto host = LocalHost::from_environment();
  if (!host) return host.status();
  auto settings = Settings::from_environment(config.streams);
  if (!settings) return settings.status();
  if (config.tls != nullptr) settings->tls = *config.tls;
  const auto endpoints = host->listening_endpoints();
  auto listening = endpoints.empty() ? listen_anywhere(*settings) : listen_on(endpoints, *settings);
  if (!listening) return listening.status();
  return std::unique_ptr<Transport>(
      std::make_unique<TcpTransport>(config, *settings, std::move(*listening), std::move(*host)));
}

TcpTransport::TcpTransport(const TransportConfig& config, const Settings& settings, ListeningSocket listening,
                           LocalHost host)
    : config_(config),
      settings_(settings),
      context_{config.rank, config.listener, std::vector<std::byte>(staging_bytes)},
      host_(std::move(host)),
      address_(encode(host_.advertise(listening.port, settings.streams))),
      connector_(config_, settings_, context_, std::move(listening.fds)) {}

bool TcpTransport::reaches(const Address& address) const {
  return parse_reachability(address).has_value();
}

Result<Link*> TcpTransport::connect(Rank peer, const Address& address, std::optional<Deadline> deadline) {
  if (peer < 0 || peer >= config_.size || peer == config_.rank) {
    return Status(Code::invalid_argument,
                  fmt::format("rank {} cannot connect to rank {} in a group of {}", config_.rank, peer, config_.size));
  }
  TcpLink* const link = connector_.find(peer);
  if (link != nullptr && connector_.has_begun(*link)) return link;
  const auto theirs = parse_reachability(address);
  if (!theirs) {
    return Status(Code::invalid_argument,
                  fmt::format("what rank {} advertises is not a TCP address of Hocket's", peer));
  }
  const std::uint16_t streams = std::max(settings_.streams, theirs->streams);
  return &connector_.link_to(peer, streams, host_.candidates(*theirs), deadline);
}

// A router or a firewall may have ended the connection. One that refuses in the name of a process that listens is not
// told apart from a host where nobody does.
bool TcpTransport::may_live(const Address& address, Deadline deadline) const {
  const auto theirs = parse_reachability(address);
  return !theirs || !all_refuse(host_.doors(*theirs), deadline, settings_);
}

std::size_t TcpTransport::progress() {
  std::size_t happened = 0;
  const std::vector<TcpLink*>& links = connector_.links();
  const bool rests = context_.pace.rests();
  for (std::size_t i = 0; i < links.size(); ++i) {
    if ((rests ? links[i]->flushing() : links[i]->busy()) || links[i]->ready()) happened += links[i]->advance();
  }
  context_.pace.end_round();
  if (rests && happened == 0) return 0;
  look_ = connector_.take_news() || look_;
  const bool idle = (look_ || listening_) && happened == 0;
  const unsigned between_looks = links.empty() ? calls_per_look_at_the_door : calls_per_look;
  if (idle || connector_.unsettled() || ++calls_ % between_looks == 0) happened += look_round();
  return happened;
}

// Asks the kernel once about everything that progress() does not touch every time.
std::size_t TcpTransport::look_round() {
  look_ = false;
  polled_.clear();
  polled_streams_.clear();
  // poll(2) takes no more entries than this process may have descriptors, so there are none for streams that are
  // closed.
  for (TcpLink* link : connector_.links()) {
    for (std::size_t stream = 0; stream < link->streams(); ++stream) {
      const short events = link->interest(stream);
      if (events == 0) continue;
      polled_.push_back({link->fd(stream), events, 0});
      polled_streams_.emplace_back(link, stream);
    }
  }
  connector_.append_listeners(polled_);
  std::size_t happened = 0;
  if (::poll(polled_.data(), polled_.size(), 0) > 0) {
    for (std::size_t i = 0; i < polled_streams_.size(); ++i) {
      const auto& [link, stream] = polled_streams_[i];
      if (const short events = polled_[i].revents; events != 0) happened += link->look(stream, events);
    }
    const auto listeners = polled_.begin() + static_cast<std::ptrdiff_t>(polled_streams_.size());
    if (std::any_of(listeners, polled_.end(), [](const pollfd& one) { return one.revents != 0; })) connector_.accept();
  }
  return happened + connector_.step();
}

bool TcpTransport::arm(std::vector<pollfd>& interests) {
  context_.pace.hurry();
  for (const TcpLink* link : connector_.links()) {
    if (link->ready()) return false;
  }
  for (const TcpLink* link : connector_.links()) {
    for (std::size_t stream = 0; stream < link->streams(); ++stream) {
      if (const short events = link->interest(stream); events != 0) interests.push_back({link->fd(stream), events, 0});
    }
  }
  if (!connector_.all_started()) return false;
  connector_.append_interests(interests);
  return true;
}

void TcpTransport::watch(std::vector<pollfd>& interests) {
  context_.pace.hurry();
  for (const TcpLink* link : connector_.links()) {
    for (std::size_t stream = 0; stream < link->streams(); ++stream) {
      const short events = link->end_interest(stream);
      if (events != 0) interests.push_back({link->fd(stream), events, 0});
    }
  }
  connector_.append_interests(interests);
  look_ = true;
}

bool TcpTransport::still_talking(bool await_peers) const {
  if (await_peers && connector_.has_greeted()) return true;  // else the peer only sees a reset
  return std::ranges::any_of(connector_.links(), [&](const TcpLink* link) {
    return link->attached() && (link->flushing() || (await_peers && !link->ended()));
  });
}

void TcpTransport::shut_down(const Status& why, Deadline deadline) {
  if (::getpid() != owner_) return;  // a forked child must not speak for its parent
  connector_.shut_down(why);
  for (TcpLink* link : connector_.links()) link->close(why);
  // A socket that is closed with unread bytes resets the connection and may take our last words with it. So after a
  // failure everything is read until the peers have closed as well.
  const bool await_peers = !why.ok();
  constexpr int acknowledgement_ms = 2;  // no poll(2) tells of one
  const auto unacknowledged = [&] { return std::ranges::any_of(connector_.links(), &TcpLink::unacknowledged); };
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
  for (TcpLink* link : connector_.links()) link->fail(given_up, false);
}

}  // namespace hocket::tcp
