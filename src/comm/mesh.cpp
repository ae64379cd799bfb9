#include "src/comm/mesh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/base/log.hpp"
#include "transports/registry.hpp"

namespace hocket {

namespace {

// Strings behind a two-byte length, one after the other: enough for a card.
void put(std::string& out, std::string_view text) {
  out.push_back(static_cast<char>(text.size() & 0xff));
  out.push_back(static_cast<char>(text.size() >> 8));
  out.append(text);
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  std::string take() {
    if (rest_.size() < 2) return fail();
    const std::size_t length = static_cast<unsigned char>(rest_[0]) + 256U * static_cast<unsigned char>(rest_[1]);
    if (rest_.size() < 2 + length) return fail();
    std::string text(rest_.substr(2, length));
    rest_.remove_prefix(2 + length);
    return text;
  }
  bool empty() const { return rest_.empty(); }
  bool good() const { return good_; }

 private:
  std::string fail() {
    good_ = false;
    rest_ = {};
    return {};
  }
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

std::string PeerInfo::serialise() const {
  std::string out;
  put(out, host);
  put(out, algorithm);
  put(out, tuning);
  put(out, deterministic ? "1" : "0");
  put(out, cores.text());
  for (const Door& door : doors) {
    put(out, door.transport);
    put(out, door.address);
  }
  return out;
}

Result<PeerInfo> PeerInfo::parse(std::string_view bytes) {
  Reader reader(bytes);
  PeerInfo card;
  card.host = reader.take();
  card.algorithm = reader.take();
  card.tuning = reader.take();
  card.deterministic = reader.take() == "1";
  const auto cores = CoreSet::parse(reader.take());
  while (!reader.empty()) {
    Door door{.transport = reader.take(), .address = reader.take()};
    card.doors.push_back(std::move(door));
  }
  if (!reader.good() || !cores) {
    return Status(Code::protocol_error, "a rank's entry in the store is damaged; use a store of this job alone");
  }
  card.cores = *cores;
  return card;
}

// A block: two bytes of length, one with the code (0: a card follows), the text.
Status write_peer_info(PeerInfoBlock block, const Result<PeerInfo>& card) {
  constexpr std::size_t room = peer_info_bytes_max - 3;
  const std::string text = card.ok() ? card->serialise() : card.status().message().substr(0, room);
  if (text.size() > room) {
    return {Code::internal,
            fmt::format("this rank's addresses take {} bytes, more than the {} that fit", text.size(), room)};
  }
  block[0] = static_cast<std::byte>(text.size() & 0xff);
  block[1] = static_cast<std::byte>(text.size() >> 8);
  block[2] = static_cast<std::byte>(card.status().code());
  std::memcpy(block.data() + 3, text.data(), text.size());
  return {};
}

Result<PeerInfo> read_peer_info(PeerInfoBlock block) {
  const std::size_t length = std::to_integer<std::size_t>(block[0]) + 256 * std::to_integer<std::size_t>(block[1]);
  const auto code = std::to_integer<int>(block[2]);
  if (length + 3 > block.size() || code > HOCKET_INTERNAL) {
    return Status(Code::protocol_error, "what a rank sent is no card of Hocket's");
  }
  const std::string_view text(reinterpret_cast<const char*>(block.data()) + 3, length);
  if (code != HOCKET_OK) return Status(static_cast<Code>(code), std::string(text));
  return PeerInfo::parse(text);
}

Result<std::vector<std::unique_ptr<Transport>>> open_transports(std::string_view wanted,
                                                                const TransportConfig& config) {
  std::vector<std::unique_ptr<Transport>> opened;
  for (const TransportEntry& entry : transports()) {
    if (wanted != "auto" && wanted != entry.name) continue;
    auto transport = entry.make(config);
    if (transport.ok()) {
      opened.push_back(std::move(*transport));
    } else if (wanted != "auto" || entry.name == transports().back().name) {
      return transport.status();
    } else {
      log::warn(fmt::format("going on without transport {}: {}", entry.name, transport.status().message()));
    }
  }
  return opened;
}

std::vector<PeerInfo::Door> Mesh::doors() const {
  std::vector<PeerInfo::Door> doors;
  for (const auto& transport : transports_) {
    doors.push_back({.transport = std::string(transport->name()), .address = transport->address()});
  }
  return doors;
}

void Mesh::set_peer_infos(std::vector<PeerInfo> cards) {
  cards_ = std::move(cards);
  links_.resize(cards_.size());
  all_links_made_ = false;
  routes_.clear();
  for (const PeerInfo& card : cards_) routes_.push_back(route_to(card));
}

// Over the first transport that both sides have.
Mesh::Route Mesh::route_to(const PeerInfo& card) const {
  for (const auto& transport : transports_) {
    for (const auto& door : card.doors) {
      if (door.transport == transport->name() && transport->reaches(door.address)) {
        return {transport.get(), &door.address};
      }
    }
  }
  return {};
}

std::string Mesh::transports_of(std::span<const Direction> directions) const {
  std::string names;
  for (const auto& transport : transports_) {
    const auto used = [&](const Direction& direction) {
      return routes_[static_cast<std::size_t>(direction.peer)].transport == transport.get();
    };
    if (std::ranges::none_of(directions, used)) continue;
    if (!names.empty()) names += '+';
    names += transport->name();
  }
  return names.empty() ? "none" : names;
}

Transport* Mesh::window_transport() const {
  for (const auto& transport : transports_) {
    if (!transport->has_window()) continue;
    const auto reaches = [&](const PeerInfo& card) {
      return std::any_of(card.doors.begin(), card.doors.end(), [&](const PeerInfo::Door& door) {
        return door.transport == transport->name() && transport->reaches(door.address);
      });
    };
    if (std::all_of(cards_.begin(), cards_.end(), reaches)) return transport.get();
  }
  return nullptr;
}

Result<Link*> Mesh::link(Rank peer, Deadline deadline) {
  Link* const known = links_[static_cast<std::size_t>(peer)];
  return known != nullptr ? known : make_link(peer, deadline);
}

Result<Link*> Mesh::make_link(Rank peer, std::optional<Deadline> deadline) {
  const Route& route = routes_[static_cast<std::size_t>(peer)];
  if (route.transport == nullptr) {
    return Status(Cause{.code = Code::unsupported,
                        .message = fmt::format("this rank and rank {} have no transport in common; "
                                               "set HOCKET_TRANSPORT to the same value on all ranks",
                                               peer),
                        .peer = peer});
  }
  auto made = route.transport->connect(peer, *route.address, deadline);
  if (!made.ok()) return made;
  return links_[static_cast<std::size_t>(peer)] = *made;
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

std::size_t Mesh::progress() {
  std::size_t happened = 0;
  for (const auto& transport : transports_) happened += transport->progress();
  return happened;
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
  for (Link* link : links_) {
    if (link != nullptr) link->close(why);
  }
}

void Mesh::shut_down(const Status& why, Deadline deadline) {
  for (const auto& transport : transports_) transport->shut_down(why, deadline);
}

}  // namespace hocket
