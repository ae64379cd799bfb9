#include "transports/shm/shm_transport.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/base/log.hpp"
#include "src/base/wake_event.hpp"
#include "transports/shm/fence.hpp"

namespace hocket::shm {
namespace {

using std::chrono_literals::operator""ms;

constexpr std::size_t greetings_max = 64;  // newcomers who have not said who they are
// Between two looks at the sockets: calls that found nothing take about 20 ns, others up to 100 µs.
constexpr unsigned idle_calls_per_look = 1024;
constexpr unsigned idle_calls_of_a_busy_one = 16;
constexpr auto dial_pause = 5ms;  // until the next attempt, where too many knock at once

Status cannot_share(const Status& why) {
  return Status(Code::unsupported, fmt::format("ranks of this host cannot share memory: {}", why.message()));
}

}  // namespace

Result<std::unique_ptr<Transport>> make_transport(const TransportConfig& config) {
  auto address = local_address();
  if (!address) return address.status();
  if (auto memory = create_memory("messages", ring_bytes); !memory) return cannot_share(memory.status());
  auto listener = listen_as(config.group, config.rank);
  if (!listener) return cannot_share(listener.status());
  UniqueFd bell(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!bell) return cannot_share(Status(Code::out_of_resources, std::strerror(errno)));
  return std::unique_ptr<Transport>(
      std::make_unique<ShmTransport>(config, std::move(*address), std::move(*listener), std::move(bell)));
}

ShmTransport::ShmTransport(const TransportConfig& config, Address address, UniqueFd listener, UniqueFd bell)
    : config_(config),
      context_{config.rank, ::getpid(), config.listener, &desk_},
      address_(std::move(address)),
      listener_(std::move(listener)),
      bell_(std::move(bell)),
      accept_guard_(config_),
      by_rank_(static_cast<std::size_t>(config.size)) {}

ShmTransport::~ShmTransport() = default;

// ---- connecting
// -------------------------------------------------------------------------------------------------------

bool ShmTransport::reaches(const Address& address) const {
  if (address == address_) return true;
  if (!told_of_separation_ && on_one_kernel(address, address_)) {
    told_of_separation_ = true;
    log::warn(
        fmt::format("rank {} cannot share memory with all ranks of its host and goes on without: some live in "
                    "another container (a network or user namespace of their own), or belong to another user",
                    config_.rank));
  }
  return false;
}

Result<Link*> ShmTransport::connect(Rank peer, const Address& address, std::optional<Deadline> deadline) {
  if (peer < 0 || peer >= config_.size || peer == config_.rank) {
    return Status(Code::invalid_argument,
                  fmt::format("rank {} cannot connect to rank {} in a group of {}", config_.rank, peer, config_.size));
  }
  if (!reaches(address)) {
    return Status(Code::invalid_argument,
                  fmt::format("rank {} does not live where rank {} can share memory with it", peer, config_.rank));
  }
  return &expect(peer, deadline);
}

ShmLink& ShmTransport::make_link(Rank peer) {
  auto& link = by_rank_[static_cast<std::size_t>(peer)];
  link = std::make_unique<ShmLink>(context_, peer);
  links_.push_back(link.get());
  ++watch_epoch_;
  return *link;
}

ShmLink& ShmTransport::expect(Rank peer, std::optional<Deadline> deadline) {
  if (ShmLink* const link = by_rank_[static_cast<std::size_t>(peer)].get()) return *link;
  ShmLink& link = make_link(peer);
  const bool dials = config_.rank > peer;
  if (!dials && !deadline) return link;  // the peer may come at any time
  const Deadline until = deadline.value_or(Deadline(Deadline::Clock::time_point::max()));
  expected_.push_back({&link, Deadline::Clock::now(), until, deadline.has_value(), std::nullopt});
  if (dials) {
    expected_.back().dial.emplace(Hello{config_.group, config_.rank, peer}, bell_.get());
    step_expected();
  }
  return link;
}

void ShmTransport::attach(ShmLink& link, Connection connection) {
  link.attach(std::move(connection));
  if (shut_down_with_) link.close(*shut_down_with_);
  look_ = true;
  ++watch_epoch_;
}

bool ShmTransport::connected(Rank peer) const {
  if (peer < 0 || peer >= config_.size) return false;
  const auto& link = by_rank_[static_cast<std::size_t>(peer)];
  return link && link->up();
}

void ShmTransport::answer_door() {
  while (true) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd) {
      if (greetings_.size() == greetings_max) {
        refuse(greetings_.front(), "too many others wait");
        greetings_.erase(greetings_.begin());
      }
      greetings_.emplace_back(std::move(fd));
      ++watch_epoch_;
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    accept_guard_.shut(errno);
    return;
  }
}

std::size_t ShmTransport::step_greetings() {
  return hocket::step_greetings(
      greetings_, [&](Greeting& greeting) { return admit(greeting); },
      [&](const Greeting& greeting, const std::string& why) { refuse(greeting, why); });
}

// Lets a newcomer in, or says why not.
std::string ShmTransport::admit(Greeting& greeting) {
  const Hello& hello = greeting.hello();
  if (std::string objection = accept_guard_.objection(hello.group, hello.from, hello.to); !objection.empty()) {
    return objection;
  }
  ShmLink* link = by_rank_[static_cast<std::size_t>(hello.from)].get();
  if (link != nullptr && link->attached()) return fmt::format("rank {} is connected already", hello.from);
  if (link == nullptr) link = &make_link(hello.from);
  std::erase_if(expected_, [&](const Expected& expected) { return expected.link == link; });
  attach(*link, std::move(greeting).welcome(bell_.get()));
  return "";
}

void ShmTransport::refuse(const Greeting& greeting, const std::string& why) {
  accept_guard_.log_refusal(fmt::format("{} {}", greeting.uid(), greeting.pid()),
                            fmt::format("process {}", greeting.pid()), why);
}

std::size_t ShmTransport::step_expected() {
  return std::erase_if(expected_, [&](Expected& expected) { return step(expected); });
}

// Whether the link is connected or given up now.
bool ShmTransport::step(Expected& expected) {
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
  expected.doubt(fmt::format(
      "rank {} cannot be reached through shared memory ({}): its process has ended, or lives in another container",
      link.peer(), expected.dial->problem()));
  ++watch_epoch_;
  return false;
}

// ---- progress and sleep
// -----------------------------------------------------------------------------------------------

std::size_t ShmTransport::progress() {
  std::size_t happened = 0;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const bool busy = links_[i]->busy();
    if (busy) happened += links_[i]->advance();
    if (busy || listening_) look_ = look_ || links_[i]->awaits_ring(listening_);
  }
  calls_ += happened > 0 ? idle_calls_of_a_busy_one : 1;
  if ((look_ && happened == 0) || !expected_.empty() || !greetings_.empty() || calls_ >= idle_calls_per_look) {
    happened += look_round();
  }
  return happened;
}

// Asks the kernel once about all sockets.
std::size_t ShmTransport::look_round() {
  look_ = false;
  calls_ = 0;
  for (const auto& [number, window] : desk_.windows()) window->announce_removals();
  polled_.clear();
  polled_.push_back({accept_guard_.open() ? listener_.get() : -1, POLLIN, 0});
  const std::size_t links = links_.size();
  for (std::size_t i = 0; i < links; ++i) links_[i]->interests(polled_, POLLIN);
  std::size_t happened = 0;
  if (::poll(polled_.data(), polled_.size(), 0) > 0) {
    for (std::size_t i = 0; i < links; ++i) {
      const bool died = polled_[2 * i + 2].revents != 0;
      if (died || polled_[2 * i + 1].revents != 0) happened += links_[i]->listen(died);
    }
    if (polled_.front().revents != 0) answer_door();
  }
  return happened + step_greetings() + step_expected();
}

bool ShmTransport::arm(std::vector<pollfd>& interests) {
  for (ShmLink* link : links_) link->announce_sleep(true, listening_);
  full_fence();  // either we see what peers do, or they see that we sleep
  if (std::any_of(links_.begin(), links_.end(), [&](ShmLink* link) { return link->ready(listening_); })) {
    disarm();
    return false;
  }
  interests.push_back({bell_.get(), POLLIN, 0});
  append_interests(interests, POLLIN);
  return true;
}

void ShmTransport::disarm() {
  for (ShmLink* link : links_) link->announce_sleep(false, listening_);
  clear_event(bell_);
  look_ = true;
}

void ShmTransport::watch(std::vector<pollfd>& interests) {
  append_interests(interests, POLLRDHUP);
  look_ = true;
}

// `events`: of the links.
void ShmTransport::append_interests(std::vector<pollfd>& interests, short events) {
  for (const ShmLink* link : links_) link->interests(interests, events);
  if (accept_guard_.open()) interests.push_back({listener_.get(), POLLIN, 0});
  for (const Greeting& greeting : greetings_) interests.push_back(greeting.interest());
  for (const Expected& expected : expected_) {
    if (expected.dial) interests.push_back(expected.dial->interest());
  }
}

std::optional<Deadline> ShmTransport::next_deadline() const {
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

void ShmTransport::shut_down(const Status& why, Deadline deadline) {
  if (::getpid() != context_.owner) return;
  shut_down_with_ = why;
  for (ShmLink* link : links_) link->close(why);
  const auto flushing = [](const ShmLink* link) { return link->attached() && link->flushing(); };
  // A peer that has been greeted may count this rank as connected, and would only see its end.
  const auto greeted = [](const Expected& expected) { return expected.dial && expected.dial->interest().fd >= 0; };
  const auto talking = [&] {
    return std::ranges::any_of(links_, flushing) || (!why.ok() && std::ranges::any_of(expected_, greeted));
  };
  std::vector<pollfd> interests;
  for (progress(); talking() && !deadline.passed(); progress()) {
    interests.clear();
    if (!arm(interests)) continue;
    const auto next = next_deadline();
    ::poll(interests.data(), interests.size(), (next ? earlier(*next, deadline) : deadline).remaining_ms());
    disarm();
  }
  const Status given_up = why.ok() ? Status(Code::aborted, "the transport was shut down before this was sent") : why;
  for (ShmLink* link : links_) link->fail(given_up, false);
}

// ---- windows
// ----------------------------------------------------------------------------------------------------------

Status ShmTransport::check_members(std::span<const Rank> members) const {
  const bool ascending = std::adjacent_find(members.begin(), members.end(), std::greater_equal<>()) == members.end();
  const bool present = std::find(members.begin(), members.end(), config_.rank) != members.end();
  if (!members.empty() && ascending && present && members.front() >= 0 && members.back() < config_.size) return {};
  return Status(Code::invalid_argument,
                fmt::format("the members of a window must be ranks 0 … {} in ascending order, rank {} among them",
                            config_.size - 1, config_.rank));
}

// Makes progress until `done`, or a member fails or refuses.
template <class Done>
Status ShmTransport::await(const ShmWindow& window, std::span<ShmLink* const> links, Done done, Deadline deadline) {
  std::vector<pollfd> interests;
  while (true) {
    progress();
    if (!window.refusal().ok()) return window.refusal();
    if (done()) return {};
    for (std::size_t i = 0; i < links.size(); ++i) {  // who has confirmed may have gone on, and left
      if (links[i] != nullptr && !window.confirmed(i) && !links[i]->ended_with().ok()) return links[i]->ended_with();
    }
    if (deadline.passed()) {
      return Status(Cause{.code = Code::timeout,
                          .message = fmt::format("rank {} waited in vain for rank {} to open a window: see whether its "
                                                 "process runs",
                                                 config_.rank, window.missing()),
                          .rank = config_.rank,
                          .peer = window.missing()});
    }
    interests.clear();
    if (!arm(interests)) continue;
    const auto next = next_deadline();
    ::poll(interests.data(), interests.size(), (next ? earlier(*next, deadline) : deadline).remaining_ms());
    disarm();
  }
}

Result<std::unique_ptr<Window>> ShmTransport::open_window(std::span<const Rank> members, Deadline deadline) {
  if (Status checked = check_members(members); !checked.ok()) return checked;
  const auto self = std::find(members.begin(), members.end(), config_.rank) - members.begin();
  std::vector<ShmLink*> links;
  for (const Rank rank : members) links.push_back(rank == config_.rank ? nullptr : &expect(rank, deadline));

  auto window = std::make_unique<ShmWindow>(desk_, config_.regions, members, links, static_cast<std::uint32_t>(self));
  window->attach();
  const auto all_connected = [&] {
    return std::all_of(links.begin(), links.end(), [](const ShmLink* link) { return link == nullptr || link->up(); });
  };
  Status status = await(*window, links, all_connected, deadline);
  if (status.ok()) status = window->publish_own();
  if (status.ok())
    status = await(
        *window, links, [&] { return window->all_published(); }, deadline);
  if (status.ok()) status = window->confirm();
  if (status.ok())
    status = await(
        *window, links, [&] { return window->all_confirmed(); }, deadline);
  if (!status.ok()) return window->give_up(status);
  return std::unique_ptr<Window>(std::move(window));
}

}  // namespace hocket::shm
