#include "transports/shm/shm_transport.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/base/fence.hpp"
#include "src/base/log.hpp"
#include "src/base/wake_event.hpp"
#include "transports/shm/shm_window.hpp"
#include "transports/shm/window_opening.hpp"

namespace hocket::shm {
namespace {

// Between two looks at the sockets: calls that found nothing take about 20 ns, others up to 100 µs.
constexpr unsigned idle_calls_per_look = 1024;
constexpr unsigned idle_calls_of_a_busy_one = 16;

// What is used up may be given more of; whatever else it is, ranks of this host do without.
Status cannot_share(const Status& why) {
  const Code code = why.code() == Code::out_of_resources ? why.code() : Code::unsupported;
  return Status(code, fmt::format("ranks of this host cannot share memory: {}", why.message()));
}

}  // namespace

Result<std::unique_ptr<Transport>> make_transport(const TransportConfig& config) {
  auto address = local_address();
  if (!address) return address.status();
  if (auto memory = create_memory("messages", ring_bytes, Commit::later); !memory) return cannot_share(memory.status());
  auto listener = listen_as(config.group, config.rank);
  if (!listener) return cannot_share(listener.status());
  UniqueFd wake_event(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake_event)
    return cannot_share(Status(Code::out_of_resources, fmt::format("{}; raise `ulimit -n`", std::strerror(errno))));
  return std::unique_ptr<Transport>(
      std::make_unique<ShmTransport>(config, std::move(*address), std::move(*listener), std::move(wake_event)));
}

ShmTransport::ShmTransport(const TransportConfig& config, Address address, UniqueFd listener, UniqueFd wake_event)
    : config_(config),
      context_{.rank = config.rank,
               .owner = ::getpid(),
               .listener = config.listener,
               .windows = &windows_,
               .may_read_plain_memory = may_read_plain_memory()},
      address_(std::move(address)),
      wake_event_(std::move(wake_event)),
      connector_(config_, context_, std::move(listener), wake_event_.get()) {}

ShmTransport::~ShmTransport() = default;

bool ShmTransport::reaches(const Address& address) const {
  if (address == address_) return true;
  if (config_.warns && !told_of_separation_ && on_one_kernel(address, address_)) {
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
  return &connector_.link_to(peer, deadline);
}

// ---- progress and sleep ---------------------------------------------------------------------------------------------

std::size_t ShmTransport::progress() {
  std::size_t happened = 0;
  const std::vector<ShmLink*>& links = connector_.links();
  for (std::size_t i = 0; i < links.size(); ++i) {
    const bool busy = links[i]->busy();
    if (busy) happened += links[i]->advance();
    if (busy || listening_) look_ = look_ || links[i]->awaits_ring(listening_);
  }
  look_ = connector_.take_news() || look_;
  calls_ += happened > 0 ? idle_calls_of_a_busy_one : 1;
  if ((look_ && happened == 0) || connector_.unsettled() || calls_ >= idle_calls_per_look) happened += look_round();
  return happened;
}

bool ShmTransport::awaits_another_core() {
  const auto core = static_cast<std::uint32_t>(::sched_getcpu() + 1);
  bool awaits = false;
  for (ShmLink* const link : connector_.links()) awaits = link->awaits_another_core(core) || awaits;
  return awaits;
}

// Asks the kernel once about all sockets.
std::size_t ShmTransport::look_round() {
  look_ = false;
  calls_ = 0;
  windows_.announce_removals();
  polled_.clear();
  polled_.push_back(connector_.listening());
  const std::vector<ShmLink*>& links = connector_.links();
  const std::size_t present = links.size();
  first_polled_.clear();
  for (std::size_t i = 0; i < present; ++i) {
    first_polled_.push_back(polled_.size());
    links[i]->interests(polled_, POLLIN);
  }
  first_polled_.push_back(polled_.size());
  std::size_t happened = 0;
  if (::poll(polled_.data(), polled_.size(), 0) > 0) {
    for (std::size_t i = 0; i < present; ++i) {
      const auto polled =
          std::span<const pollfd>(polled_).subspan(first_polled_[i], first_polled_[i + 1] - first_polled_[i]);
      const bool died = polled.size() == 2 && polled.back().revents != 0;
      if (died || (!polled.empty() && polled.front().revents != 0)) happened += links[i]->listen(died);
    }
    if (polled_.front().revents != 0) connector_.accept();
  }
  return happened + connector_.step();
}

bool ShmTransport::arm(std::vector<pollfd>& interests) {
  for (ShmLink* link : connector_.links()) link->announce_sleep(true, listening_);
  full_fence();  // either we see what peers do, or they see that we sleep
  if (std::ranges::any_of(connector_.links(), [&](ShmLink* link) { return link->ready(listening_); })) {
    disarm();
    return false;
  }
  interests.push_back({wake_event_.get(), POLLIN, 0});
  if (wake_socket_) interests.push_back({wake_socket_.fd(), POLLIN, 0});
  append_interests(interests, POLLIN);
  return true;
}

void ShmTransport::disarm() {
  for (ShmLink* link : connector_.links()) link->announce_sleep(false, listening_);
  clear_event(wake_event_);
  if (wake_socket_) wake_socket_.clear();
  look_ = true;
}

void ShmTransport::watch(std::vector<pollfd>& interests) {
  append_interests(interests, POLLRDHUP);
  look_ = true;
}

// `events`: of the links.
void ShmTransport::append_interests(std::vector<pollfd>& interests, short events) {
  for (const ShmLink* link : connector_.links()) link->interests(interests, events);
  connector_.append_interests(interests);
}

void ShmTransport::shut_down(const Status& why, Deadline deadline) {
  if (::getpid() != context_.owner) return;
  connector_.shut_down(why);
  for (ShmLink* link : connector_.links()) link->close(why);
  const auto talking = [&] {
    const bool flushing = std::ranges::any_of(connector_.links(),
                                              [](const ShmLink* link) { return link->attached() && link->flushing(); });
    // A peer that has been greeted would only see its end.
    return flushing || (!why.ok() && connector_.has_greeted());
  };
  std::vector<pollfd> interests;
  // Whoever has knocked hears why, too.
  for (look_round(); talking() && !deadline.passed(); progress()) {
    interests.clear();
    if (!arm(interests)) continue;
    const auto next = next_deadline();
    ::poll(interests.data(), interests.size(), (next ? earlier(*next, deadline) : deadline).remaining_ms());
    disarm();
  }
  const Status given_up = why.ok() ? Status(Code::aborted, "the transport was shut down before this was sent") : why;
  for (ShmLink* link : connector_.links()) link->fail(given_up, false);
}

// ---- windows --------------------------------------------------------------------------------------------------------

Status ShmTransport::check_members(std::span<const Rank> members) const {
  std::vector<Rank> sorted(members.begin(), members.end());
  std::ranges::sort(sorted);
  const bool differ = std::ranges::adjacent_find(sorted) == sorted.end();
  const bool present = std::ranges::binary_search(sorted, config_.rank);
  if (differ && present && sorted.front() >= 0 && sorted.back() < config_.size) return {};
  return Status(Code::invalid_argument,
                fmt::format("the members of a window must be different ranks of 0 … {}, rank {} among them",
                            config_.size - 1, config_.rank));
}

// By which members are woken that are no peers.
Status ShmTransport::open_wake_socket() {
  if (wake_socket_) return {};
  auto socket = WakeSocket::open();
  if (!socket) return socket.status();
  wake_socket_ = std::move(*socket);
  return {};
}

Result<std::unique_ptr<WindowOpening>> ShmTransport::begin_window(std::uint32_t number, std::span<const Rank> members,
                                                                  Deadline deadline, const Status& unfit) {
  if (Status checked = check_members(members); !checked.ok()) return checked;
  const auto self = std::find(members.begin(), members.end(), config_.rank) - members.begin();
  const auto size = static_cast<std::ptrdiff_t>(members.size());
  const bool connects_all = members.size() <= all_connected_max;
  Status fitness = unfit;
  if (fitness.ok() && !connects_all) fitness = open_wake_socket();
  std::vector<ShmLink*> links;
  for (std::ptrdiff_t i = 0; i < size; ++i) {
    const bool neighbour = i == (self + 1) % size || i == (self + size - 1) % size;
    if (i != self && (connects_all || neighbour)) {
      links.push_back(&connector_.link_to(members[static_cast<std::size_t>(i)], deadline));
    }
  }
  if (windows_.is_used(number, members)) {
    return Status(Code::internal, fmt::format("window {} has been opened before", number));
  }
  auto window = std::make_unique<ShmWindow>(number, windows_, config_.regions, connector_, wake_socket_, members,
                                            static_cast<std::uint32_t>(self));
  return std::unique_ptr<WindowOpening>(
      std::make_unique<ShmOpening>(std::move(window), std::move(links), std::move(fitness)));
}

Result<std::unique_ptr<Window>> ShmTransport::open_window(std::uint32_t number, std::span<const Rank> members,
                                                          Deadline deadline) {
  const auto opening = begin_window(number, members, deadline, {});
  if (!opening.ok()) return opening.status();
  return wait_for(**opening, config_.rank, *this, *config_.listener, deadline);
}

}  // namespace hocket::shm
