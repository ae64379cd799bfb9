#include "src/comm/standby.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/base/bytes.hpp"
#include "src/base/hash.hpp"
#include "src/base/log.hpp"
#include "transports/registry.hpp"

namespace hocket::comm {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

constexpr std::size_t card_room = peer_info_bytes_max;
constexpr auto farewell = 1s;
// Until then a peer may come, or answer: as long as somebody waits for it, which has a deadline of its own.
constexpr auto for_ever = std::chrono::hours(24 * 365);

std::size_t bitmap_bytes(Rank size) {
  return (static_cast<std::size_t>(size) + 7) / 8;
}

std::string bitmap_of(const Ranks& ranks, Rank size) {
  std::string bitmap(bitmap_bytes(size), '\0');
  for (const Rank rank : ranks) bitmap[static_cast<std::size_t>(rank) / 8] |= static_cast<char>(1 << (rank % 8));
  return bitmap;
}

Ranks ranks_of(std::string_view bitmap, Rank size) {
  Ranks ranks;
  if (bitmap.size() != bitmap_bytes(size)) return ranks;
  for (Rank rank = 0; rank < size; ++rank) {
    if ((bitmap[static_cast<std::size_t>(rank) / 8] >> (rank % 8) & 1) != 0) ranks.insert(rank);
  }
  return ranks;
}

}  // namespace

std::size_t note_bytes(Rank size) {
  return 2 * sizeof(std::uint8_t) + sizeof(std::uint64_t) + (1 + Note::attempts_max) * bitmap_bytes(size) +
         2 * (sizeof(std::uint16_t) + card_room);
}

Status write_note(const Note& note, Rank size, std::span<std::byte> to) {
  std::ranges::fill(to, std::byte{0});
  ByteWriter writer(to.data());
  writer.put(static_cast<std::uint8_t>(note.kind));
  writer.put(note.group);
  writer.put_text(bitmap_of(note.ranks, size));
  // One more than there is room for says that there are too many to tell.
  writer.put(static_cast<std::uint8_t>(std::min(note.attempts.size(), Note::attempts_max + 1)));
  std::size_t told = 0;
  for (const Ranks& attempt : note.attempts) {
    if (told++ < Note::attempts_max) writer.put_text(bitmap_of(attempt, size));
  }
  for (; told < Note::attempts_max; ++told) writer.put_text(bitmap_of({}, size));
  for (const std::string& card : note.cards) {
    if (card.size() > card_room) return {Code::internal, fmt::format("a card has {} bytes", card.size())};
    writer.put(static_cast<std::uint16_t>(card.size()));
    writer.put_text(card);
  }
  return {};
}

std::optional<Note> read_note(std::span<const std::byte> bytes, Rank size) {
  ByteReader from(bytes);
  Note note;
  const auto kind = from.take<std::uint8_t>();
  note.kind = static_cast<Note::Kind>(kind);
  note.group = from.take<std::uint64_t>();
  note.ranks = ranks_of(from.text(bitmap_bytes(size)), size);
  const auto attempts = from.take<std::uint8_t>();
  for (std::size_t i = 0; i < Note::attempts_max; ++i) {
    const Ranks attempt = ranks_of(from.text(bitmap_bytes(size)), size);
    if (i < attempts) note.attempts.insert(attempt);
  }
  if (attempts > Note::attempts_max) note.attempts.insert(Ranks{});
  for (std::string& card : note.cards) {
    const auto length = from.take<std::uint16_t>();
    if (length > card_room) return std::nullopt;
    card = from.text(length);
  }
  const bool known = kind >= static_cast<int>(Note::Kind::call) && kind <= static_cast<int>(Note::Kind::excluded);
  if (!from.ok() || !known || attempts > Note::attempts_max + 1) return std::nullopt;
  return note;
}

// A note on its way from a peer, and what becomes of it.
struct Standby::Lane : Completion {
  Lane(Standby& owner, Rank from, Link& to_peer) : standby(owner), peer(from), link(to_peer) {
    on_done = [](Completion& self, const Status& status) {
      auto& lane = static_cast<Lane&>(self);
      lane.standby.take_note(lane, status);
    };
  }

  Standby& standby;
  const Rank peer;
  Link& link;
  std::vector<std::byte> bytes;
};

// A note on its way to a peer.
struct Standby::Sending : Completion {
  explicit Sending(Rank peer) : to(peer) {
    on_done = [](Completion& self, const Status&) { static_cast<Sending&>(self).over = true; };
  }

  const Rank to;
  std::vector<std::byte> bytes;
  bool over = false;
};

Standby::Standby(Rank rank) : rank_(rank) {}

Result<std::shared_ptr<Standby>> Standby::open(const Options& options, std::uint64_t group) {
  std::shared_ptr<Standby> standby(new Standby(options.rank));
  auto transports = open_transports(options.transport, {.rank = options.rank,
                                                        .size = options.size,
                                                        .group = Hash().add("standby").add(group).value(),
                                                        .listener = standby.get(),
                                                        .regions = nullptr,
                                                        .streams = 1,
                                                        .tls = options.trust.tls ? &*options.trust.tls : nullptr,
                                                        .secret = options.trust.secret,
                                                        .warns = false});
  if (!transports.ok()) return transports.status();
  standby->mesh_ = std::make_unique<Mesh>(std::move(*transports), options.size);
  standby->lanes_.resize(static_cast<std::size_t>(options.size));
  return standby;
}

// A forked child must not speak for its parent.
Standby::~Standby() {
  if (mesh_ && ::getpid() == owner_) mesh_->shut_down(Status(), Deadline::after(farewell));
}

void Standby::know(std::span<const PeerInfo> peers) {
  for (Rank peer = 0; peer < size(); ++peer) mesh_->add_peer(peer, peers[static_cast<std::size_t>(peer)].standby);
  mesh_->close_unused_doors(rank_);
}

void Standby::reach(Rank peer) {
  auto& lane = lanes_[static_cast<std::size_t>(peer)];
  if (lane || peer == rank_) return;
  auto link = mesh_->link(peer, Deadline::after(for_ever));
  if (!link.ok()) return peer_failed(peer, link.status());
  lane = std::make_unique<Lane>(*this, peer, **link);
  expect_note(*lane);
}

void Standby::expect_note(Lane& lane) {
  lane.bytes.resize(note_bytes(size()));
  lane.link.recv(Tag(), Buffer(lane.bytes.data(), lane.bytes.size()), lane);
}

// Called by the transport, which may not be called back.
void Standby::take_note(Lane& lane, const Status& status) {
  if (!status.ok()) return;  // peer_failed() or peer_left() say so, too
  auto note = read_note(lane.bytes, size());
  if (!note) return peer_failed(lane.peer, Status(Code::protocol_error, "what it sent is no note"));
  news_.push_back({.from = lane.peer, .note = std::move(note)});
  expecting_.push_back(&lane);
}

void Standby::tell(Rank peer, const Note& note) {
  Lane* const lane = lanes_[static_cast<std::size_t>(peer)].get();
  if (lane == nullptr) return;
  auto sending = std::make_unique<Sending>(peer);
  sending->bytes.resize(note_bytes(size()));
  if (!write_note(note, size(), sending->bytes).ok()) return;
  sendings_.push_back(std::move(sending));
  Sending& last = *sendings_.back();
  lane->link.send(Tag(), ConstBuffer(last.bytes.data(), last.bytes.size()), last);
}

void Standby::peer_failed(Rank peer, const Status& why) {
  log::info(fmt::format("rank {} does without rank {}: {}", rank_, peer, why.ok() ? "it has left" : why.message()));
  const bool ended = why.ok() || why.cause().ended;
  (ended ? ended_ : out_of_reach_).insert(peer);
  if (why.code() == Code::out_of_resources) shortage_ = why;
  news_.push_back({.from = peer, .ended = ended});
}

void Standby::peer_left(Rank peer) {
  peer_failed(peer, Status());
}

std::size_t Standby::step() {
  const std::size_t happened = mesh_->progress();
  for (Lane* lane : std::exchange(expecting_, {})) expect_note(*lane);
  std::erase_if(sendings_, [](const auto& sending) { return sending->over; });
  return happened;
}

void Standby::sleep(Deadline deadline) {
  std::vector<pollfd> interests;
  if (!mesh_->arm(interests)) return;
  const auto next = mesh_->next_deadline();
  ::poll(interests.data(), interests.size(), (next ? earlier(*next, deadline) : deadline).remaining_ms());
  mesh_->disarm();
}

std::vector<Standby::News> Standby::await(Deadline deadline) {
  while (step() > 0 || news_.empty()) {
    if (!news_.empty()) continue;
    if (deadline.passed()) break;
    sleep(deadline);
  }
  return std::exchange(news_, {});
}

void Standby::flush(Deadline deadline) {
  const auto waits = [&](const auto& sending) {
    const Transport* const transport = mesh_->routes()[sending->to].transport;
    return transport != nullptr && transport->connected(sending->to);
  };
  while (step(), std::ranges::any_of(sendings_, waits) && !deadline.passed()) sleep(deadline);
}

}  // namespace hocket::comm
