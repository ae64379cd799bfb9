#include "src/comm/standby.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/base/hash.hpp"
#include "src/base/log.hpp"
#include "transports/registry.hpp"

namespace hocket::comm {
namespace {

using std::chrono_literals::operator""s;

constexpr auto standby_farewell = 1s;
// Until then a peer may come, or answer: as long as somebody waits for it, which has a deadline of its own.
constexpr auto for_ever = std::chrono::hours(24 * 365);

}  // namespace

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

// A forked child must not speak for its parent, and has none of its threads.
Standby::~Standby() {
  if (::getpid() != owner_) {
    (void)left_behind_.release();
    return;
  }
  left_behind_.reset();
  if (mesh_) mesh_->shut_down(Status(), Deadline::after(standby_farewell));
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
  News news{.from = lane.peer, .note = read_note(lane.bytes, size())};
  if (!news.note) news.word = read_word(lane.bytes, size());
  if (!news.note && !news.word) {
    return peer_failed(lane.peer, Status(Code::protocol_error, "what it sent is no note"));
  }
  mail_.take(std::move(news));
  expecting_.push_back(&lane);
}

void Standby::tell(Rank peer, const Note& note) {
  Lane* const lane = lanes_[static_cast<std::size_t>(peer)].get();
  if (lane == nullptr) return;
  std::vector<std::byte> bytes(note_bytes(size()));
  if (write_note(note, size(), bytes).ok()) send(*lane, std::move(bytes));
}

void Standby::tell(Rank peer, Word word) {
  word.group = doing_.group;
  word.number = doing_.number;
  word.call = mail_.call();
  send(peer, word);
}

void Standby::send(Rank peer, const Word& word) {
  Lane* const lane = lanes_[static_cast<std::size_t>(peer)].get();
  if (lane == nullptr) return;
  std::vector<std::byte> bytes(note_bytes(size()));
  write_word(word, size(), bytes);
  send(*lane, std::move(bytes));
}

void Standby::send(Lane& lane, std::vector<std::byte> bytes) {
  sendings_.push_back(std::make_unique<Sending>(lane.peer));
  Sending& last = *sendings_.back();
  last.bytes = std::move(bytes);
  lane.link.send(Tag(), ConstBuffer(last.bytes.data(), last.bytes.size()), last);
}

void Standby::peer_failed(Rank peer, const Status& why) {
  log::info(fmt::format("rank {} does without rank {}: {}", rank_, peer, why.ok() ? "it has left" : why.message()));
  const bool ended = why.ok() || why.cause().ended;
  (ended ? ended_ : out_of_reach_).insert(peer);
  if (why.ok()) left_.insert(peer);
  if (why.code() == Code::out_of_resources) shortage_ = why;
  mail_.take({.from = peer, .ended = ended});
}

void Standby::peer_left(Rank peer) {
  peer_failed(peer, Status());
}

bool Standby::has_gone(Rank peer, const ProcessIdentity& process, Suspicion suspicion) {
  if (left_.contains(peer)) return true;
  const std::optional<bool> alive = process.is_alive();
  if (alive) return !*alive;
  if (suspicion == Suspicion::ended || ended_.contains(peer)) return mesh_->door_is_shut(peer);
  return (suspicion == Suspicion::lost || out_of_reach_.contains(peer)) && mesh_->has_ended(peer);
}

void Standby::leave(const Status& why) {
  shortage_ = why;
  for (Rank peer = 0; peer < size(); ++peer) {  // those who have knocked would wait for an answer
    if (Transport* const transport = mesh_->routes()[peer].transport) transport->close_door();
  }
  try {
    mesh_->close(Status());
  } catch (...) {  // memory ran out for this, too: the others wait for as long as they are patient
  }
}

std::size_t Standby::step() {
  const std::size_t happened = mesh_->progress();
  for (Lane* lane : std::exchange(expecting_, {})) expect_note(*lane);
  for (const auto& [to, answer] : mail_.take_answers()) send(to, answer);
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

std::vector<News> Standby::await(Deadline deadline) {
  while (step() > 0 || !mail_.has_news()) {
    if (mail_.has_news()) continue;
    if (deadline.passed()) break;
    sleep(deadline);
  }
  return mail_.take_news();
}

void Standby::flush(Deadline deadline) {
  const auto waits = [&](const auto& sending) {
    const Transport* const transport = mesh_->routes()[sending->to].transport;
    return transport != nullptr && transport->connected(sending->to);
  };
  while (step(), std::ranges::any_of(sendings_, waits) && !deadline.passed()) sleep(deadline);
}

Result<StandbyTurn> StandbyTurn::take(std::shared_ptr<Standby> standby, const std::function<Doing()>& what) {
  if (standby->has_turn_.exchange(true)) {
    return Status(
        Code::invalid_argument,
        "another call shrinks or agrees on this communicator, or on one that it was shrunk from or to, at the "
        "same time; make such calls one after the other");
  }
  StandbyTurn turn(std::move(standby));
  turn.standby_->left_behind_.reset();
  const Doing doing = turn.standby_->doing_ = what();
  Ranks gone = turn.standby_->ended_;
  gone.insert(turn.standby_->out_of_reach_.begin(), turn.standby_->out_of_reach_.end());
  turn.standby_->mail_.begin(doing, gone);
  return turn;
}

StandbyTurn::~StandbyTurn() {
  if (standby_) standby_->has_turn_ = false;
}

Lineage first_lineage(std::shared_ptr<Standby> standby, std::uint64_t group) {
  Lineage first{.standby = std::move(standby), .group = group};
  for (Rank rank = 0; rank < first.standby->size(); ++rank) first.standby_ranks.push_back(rank);
  return first;
}

}  // namespace hocket::comm
