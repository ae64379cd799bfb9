// Standby: links on which the ranks of a communicator find each other although it is broken. From the creation of a
// communicator on, each of its ranks can be reached there, but nobody attends to it before the ranks shrink it or agree
// on something; so a door that is closed belongs to a process that has ended. Communicators that follow each other by
// shrinking share it, and its ranks are those of the first of them.
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/process_identity.hpp"
#include "src/comm/attendant.hpp"
#include "src/comm/mesh.hpp"
#include "src/comm/options.hpp"
#include "src/comm/regroup.hpp"
#include "src/comm/standby_mail.hpp"

namespace hocket::comm {

// Notes as they travel: all that ranks of one standby exchange has one length.
std::size_t note_bytes(Rank size);
// `to` has that length. Code::internal where a card does not fit.
Status write_note(const Note& note, Rank size, std::span<std::byte> to);
// Nothing where the bytes are no note of a group of that size.
std::optional<Note> read_note(std::span<const std::byte> bytes, Rank size);
// The same of words, which have that length too.
void write_word(const Word& word, Rank size, std::span<std::byte> to);
std::optional<Word> read_word(std::span<const std::byte> bytes, Rank size);

// What the last notes and words may take.
inline constexpr std::chrono::milliseconds flush_time{200};

// What a broken communicator says of a peer: that it was lost, or that a connection to it has ended.
enum class Suspicion : std::uint8_t { none, lost, ended };
inline Suspicion suspicion_of(const Status& broken) {
  if (broken.code() != Code::peer_lost) return Suspicion::none;
  return broken.cause().ended ? Suspicion::ended : Suspicion::lost;
}

// Thread rule: one thread at a time, which has a turn (StandbyTurn) or is the one that was left behind.
class Standby final : private TransportListener {
 public:
  // Makes this rank reachable. `group`: of the communicator; no other standby has it.
  static Result<std::shared_ptr<Standby>> open(const Options& options, std::uint64_t group);
  ~Standby() override;
  Standby(const Standby&) = delete;
  Standby& operator=(const Standby&) = delete;

  std::vector<Endpoint> endpoints() const { return mesh_->endpoints(); }
  // Where the others can be reached, by rank, once that is known. Closes doors through which none of them will come.
  void know(std::span<const PeerInfo> peers);

  Rank rank() const { return rank_; }
  Rank size() const { return mesh_->size(); }
  // From now on notes of this peer are heard. A lower rank is dialled.
  void reach(Rank peer);
  // To a peer that is reached; else nothing happens.
  void tell(Rank peer, const Note& note);
  // A word of what this rank does now.
  void tell(Rank peer, Word word);

  // What has come since the last call for what this rank does; waits for it until the deadline.
  std::vector<News> await(Deadline deadline);
  // Of these, a note that is for the next shrink.
  void keep(News note) { mail_.keep(std::move(note)); }
  // Whoever still agrees on that is told from now on, whatever this rank does.
  void remember(std::uint64_t group, std::uint64_t number, const Outcome& outcome) {
    mail_.remember(group, number, outcome);
  }
  // Somebody goes on with what this rank does, until its next turn begins. The last thing in a turn.
  void leave_behind(Attendant attendant) { left_behind_ = std::make_unique<Attendant>(std::move(attendant)); }
  // Of which there will be none any more: whose connections have ended, and those that are out of reach.
  const Ranks& ended() const { return ended_; }
  const Ranks& out_of_reach() const { return out_of_reach_; }
  // Whether a peer has left, or its process has ended. Where its process is out of sight, its door tells, which is
  // asked where a connection to it has ended or, over a network, was not to be had or is said to be lost. That is no
  // proof: something between the two may have ended it, and a door may be shut a moment after somebody called there.
  // May block for 50 ms where a network is silent; does not ask at every call.
  bool has_gone(Rank peer, const ProcessIdentity& process, Suspicion suspicion);
  // What this process lacked to reach another; ok: nothing.
  const Status& shortage() const { return shortage_; }
  // Nobody hears of this rank here any more, nor it of others: all see it leave, and shortage() is `why`, which is not
  // ok. After an exception, which may have lost a note.
  void leave(const Status& why);
  // Waits until all notes to those that are connected have been handed to the network.
  void flush(Deadline deadline);

 private:
  friend class StandbyTurn;
  struct Lane;
  struct Sending;

  explicit Standby(Rank rank);
  void peer_failed(Rank peer, const Status& why) override;
  void peer_left(Rank peer) override;
  void expect_note(Lane& lane);
  void take_note(Lane& lane, const Status& status);
  void send(Lane& lane, std::vector<std::byte> bytes);
  void send(Rank peer, const Word& word);
  std::size_t step();
  void sleep(Deadline deadline);

  const pid_t owner_ = ::getpid();
  const Rank rank_;
  std::unique_ptr<Mesh> mesh_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // by rank; null: not reached yet
  std::deque<std::unique_ptr<Sending>> sendings_;
  std::vector<Lane*> expecting_;  // to be given a receive again
  StandbyMail mail_;
  Doing doing_;
  Ranks ended_, left_, out_of_reach_;
  Status shortage_;
  std::atomic<bool> has_turn_ = false;
  std::unique_ptr<Attendant> left_behind_;
};

// The right of one call to use a standby; there is one at a time.
class StandbyTurn {
 public:
  // Ends what was left behind first. `what` it does is asked by whoever has the turn: one before may have changed that.
  // Code::invalid_argument where another call has the turn.
  static Result<StandbyTurn> take(std::shared_ptr<Standby> standby, const std::function<Doing()>& what);
  ~StandbyTurn();
  StandbyTurn(StandbyTurn&&) = default;
  StandbyTurn& operator=(StandbyTurn&&) = delete;

 private:
  explicit StandbyTurn(std::shared_ptr<Standby> standby) : standby_(std::move(standby)) {}

  std::shared_ptr<Standby> standby_;  // null: moved from
};

// How a communicator goes on if it breaks.
struct Lineage {
  std::shared_ptr<Standby> standby = nullptr;      // null: it cannot
  std::vector<Rank> standby_ranks = {};            // by rank of the communicator
  std::vector<Rank> previous_ranks = {};           // in the one that it was shrunk from; empty: there is none
  std::uint64_t group = 0;                         // the communicator's; no other one of the standby has it
  std::uint32_t generation = 0;                    // how many it follows
  std::uint64_t agreements = 0;                    // of which this rank knows the outcome
  std::shared_ptr<Agreement> agreement = nullptr;  // the next one, where a call on it has failed
};
// Of a communicator that was not shrunk from another; the standby's group is its own.
Lineage first_lineage(std::shared_ptr<Standby> standby, std::uint64_t group);

}  // namespace hocket::comm
