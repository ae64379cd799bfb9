#include "src/comm/mesh.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hocket::comm {
namespace {

using std::chrono_literals::operator""ms;

// Until a door has said whether it is open; and until it is asked again, the first time and at last.
constexpr auto door_patience = 50ms;
constexpr auto ask_again_first = 5ms, ask_again_at_last = 1000ms;

}  // namespace

std::vector<Endpoint> Mesh::endpoints() const {
  std::vector<Endpoint> endpoints;
  for (const auto& transport : transports_) {
    endpoints.push_back({.transport = std::string(transport->name()), .address = transport->address()});
  }
  return endpoints;
}

std::size_t Mesh::descriptors_to_come() const {
  std::size_t count = 0;
  for (Rank peer = 0; peer < size(); ++peer) {
    const Transport* const transport = routes_[peer].transport;
    if (transport == nullptr || transport->connected(peer)) continue;
    count += static_cast<std::size_t>(transport->descriptors_per_link());
  }
  return count;
}

// The higher of two ranks dials the lower. Through a network, either sees at the other's door whether it lives.
void Mesh::close_unused_doors(Rank self) {
  for (const auto& transport : transports_) {
    bool used = false;
    for (Rank peer = transport->others_end_connections() ? 0 : self + 1; peer < size(); ++peer) {
      used = used || (peer != self && routes_[peer].transport == transport.get());
    }
    if (!used) transport->close_door();
  }
}

Result<Link*> Mesh::link(Rank peer, Deadline deadline) {
  Link* const known = links_[static_cast<std::size_t>(peer)];
  return known != nullptr ? known : make_link(peer, deadline);
}

Result<Link*> Mesh::make_link(Rank peer, std::optional<Deadline> deadline) {
  const Routes::Route& route = routes_[peer];
  if (route.transport == nullptr) {
    return Status(Cause{.code = Code::unsupported,
                        .message = fmt::format("this rank and rank {} have no transport in common; set "
                                               "HOCKET_TRANSPORT to the same value on all ranks (loopback is for "
                                               "threads of one process alone)",
                                               peer),
                        .peer = peer});
  }
  auto made = route.transport->connect(peer, route.address, deadline);
  if (!made.ok()) return made;
  return links_[static_cast<std::size_t>(peer)] = *made;
}

// A peer may have dialled this rank, which had nothing to tell it yet.
Link* Mesh::made_link(Rank peer) {
  Link* const known = links_[static_cast<std::size_t>(peer)];
  const Transport* const transport = routes_[peer].transport;
  if (known != nullptr || transport == nullptr || !transport->connected(peer)) return known;
  const auto made = make_link(peer, std::nullopt);
  return made.ok() ? *made : nullptr;
}

// A peer that cannot be reached at all, as this rank itself, sends nothing.
void Mesh::listen(bool on) {
  for (Rank peer = 0; on && !all_links_made_ && peer < size(); ++peer) {
    if (links_[static_cast<std::size_t>(peer)] == nullptr) (void)make_link(peer, std::nullopt);
  }
  all_links_made_ = all_links_made_ || on;
  for (const auto& transport : transports_) transport->listen(on);
}

std::optional<Tag> Mesh::probe(Rank peer) {
  Link* const link = links_[static_cast<std::size_t>(peer)];
  return link != nullptr ? link->probe() : std::nullopt;
}

bool Mesh::has_ended(Rank peer) {
  const std::optional<bool> alive = processes_[static_cast<std::size_t>(peer)].is_alive();
  if (alive) return !*alive;
  const Transport* const transport = routes_[peer].transport;
  return transport != nullptr && transport->others_end_connections() && door_is_shut(peer);
}

bool Mesh::answers_dials(Rank peer) const {
  const bool asked = links_[static_cast<std::size_t>(peer)] != nullptr;
  return asked && routes_[peer].transport->descriptors_per_link() > 0;
}

bool Mesh::door_is_shut(Rank peer) {
  Doubt& doubt = doubts_.try_emplace(peer, Doubt{.pause = ask_again_first}).first->second;
  const Routes::Route& route = routes_[peer];
  const bool asks = doubt.next.passed() && next_door_.passed() && route.transport != nullptr;
  if (doubt.is_shut || !asks) return doubt.is_shut;
  const auto began = Deadline::Clock::now();
  doubt.is_shut = !route.transport->may_live(route.address, Deadline::after(door_patience));
  next_door_ = Deadline::after(Deadline::Clock::now() - began);  // silent ones must not take all of this rank's time
  doubt.next = Deadline::after(doubt.pause);
  doubt.pause = std::min(2 * doubt.pause, ask_again_at_last);
  return doubt.is_shut;
}

std::size_t Mesh::progress() {
  std::size_t happened = 0;
  for (const auto& transport : transports_) happened += transport->progress();
  return happened;
}

bool Mesh::awaits_another_core() {
  bool awaits = false;
  for (const auto& transport : transports_) awaits = transport->awaits_another_core() || awaits;
  return awaits;
}

bool Mesh::arm(std::vector<pollfd>& interests) {
  for (std::size_t i = 0; i < transports_.size(); ++i) {
    if (transports_[i]->arm(interests)) continue;
    while (i-- > 0) transports_[i]->disarm();
    return false;
  }
  return true;
}

void Mesh::disarm() {
  for (const auto& transport : transports_) transport->disarm();
}

void Mesh::watch(std::vector<pollfd>& interests) {
  for (const auto& transport : transports_) transport->watch(interests);
}

std::optional<Deadline> Mesh::next_deadline() const {
  std::optional<Deadline> next;
  for (const auto& transport : transports_) {
    const auto one = transport->next_deadline();
    if (one) next = next ? earlier(*next, *one) : *one;
  }
  return next;
}

std::uint64_t Mesh::watch_epoch() const {
  std::uint64_t sum = 0;
  for (const auto& transport : transports_) sum += transport->watch_epoch();
  return sum;
}

void Mesh::close(const Status& why) {
  for (Rank peer = 0; peer < size(); ++peer) {
    if (Link* const link = made_link(peer)) link->close(why);
  }
}

void Mesh::shut_down(const Status& why, Deadline deadline) {
  for (const auto& transport : transports_) {
    try {
      transport->shut_down(why, deadline);
    } catch (...) {  // memory ran out: the peers see that the connections end
    }
  }
}

}  // namespace hocket::comm
