// Agreement: how the members of a group agree on a flag and on who is dead, whoever dies meanwhile; one rank's part.
// Pure: it does not wait, send or know the time. What has happened goes in, what is to be done comes out.
//
// The lowest rank that is not known to be dead leads, and every other one sends it its vote. Once all have voted that
// may live, the leader proposes an outcome: the one that it has accepted from a leader before it or, where there is
// none, the AND of the flags and the dead that are known. Once all that live have accepted it, it is the outcome: every
// later leader has accepted it, too. The leader commits it and, once all hold it, releases them. A rank that has been
// released is needed by nobody. One that holds the outcome and loses its leader cannot tell whether others still need
// it; it may return all the same, but leaves somebody behind who answers for it.
//
// That is Paxos (Lamport, "The Part-Time Parliament", 1998) where deaths are known for certain (Chandra and Toueg,
// "Unreliable failure detectors for reliable distributed systems", 1996): all that live must answer, so any number may
// die, and a leader need not be told what others have accepted. What is agreed on, and that ranks may return before
// others, is from Herault et al., "Practical scalable consensus for pseudo-synchronous distributed systems" (SC 2015),
// the agreement of ULFM.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/comm/regroup.hpp"

namespace hocket::comm {

struct Outcome {
  std::uint64_t flag = 0;  // the AND of the flags of all members but the dead
  Ranks dead = {};

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// What ranks tell each other meanwhile.
struct Word {
  enum class Kind : std::uint8_t {
    vote = 1,   // to the leader
    propose,    // the leader's, to all
    accept,     // the answer
    commit,     // to all: the outcome
    committed,  // the answer
    release,    // to all: all that live hold the outcome
    excluded,   // to a rank that is taken for dead
    ask,        // for whom does the receiver wait?
    waits,      // the answer; of the leader: for `dead` of `outcome`
    elsewhere,  // the answer of one that does something else on its standby
    given_up,   // the leader's, to all: `dead` of `outcome` are elsewhere
  };
  Kind kind = Kind::vote;
  std::uint64_t group = 0, number = 0;  // of which agreement; of elsewhere: in which the sender is, if in any
  std::uint64_t call = 0;               // of the sender; of elsewhere: that asked
  std::uint64_t flag = 0;               // of a vote
  Ranks dead = {};                      // all that the sender knows to be dead
  bool is_final = false;                // of a vote: the sender holds the outcome
  Outcome outcome = {};                 // proposed, committed or held
  bool shrinks = false;                 // of elsewhere: the sender shrinks a communicator
  std::uint32_t generation = 0;         // likewise: of the communicator in whose call it is

  friend bool operator==(const Word&, const Word&) = default;
};

class Agreement {
 public:
  // `members`: this rank included; `dead`: those of them that are known to be.
  Agreement(Rank self, Ranks members, const Ranks& dead, std::uint64_t flag);

  // ---- what has happened ----
  void heard(Rank from, const Word& word);
  void lost(Rank peer);  // it is dead for certain
  // This rank had given up, and takes part once more. Its flag counts if its old one has not been used.
  void come_again(std::uint64_t flag);

  // ---- what is to be done ----
  std::vector<std::pair<Rank, Word>> take_words() { return std::exchange(words_, {}); }
  // For whom it waits itself, and for whom all wait in the end, as far as it knows.
  Ranks awaited() const;
  Ranks missing() const;
  const std::optional<Outcome>& outcome() const { return outcome_; }
  // All that live hold the outcome: this rank is needed no more.
  bool over() const { return over_; }
  // It holds the outcome, but whoever committed it is dead, and may have released others, which answer no more.
  bool is_left_alone() const { return !over_ && outcome_ && committed_by_ != no_rank && dead_.contains(committed_by_); }
  // Who says that the others take this rank for dead; no_rank: nobody does.
  Rank excluded_by() const { return excluded_by_; }
  const Ranks& dead() const { return dead_; }
  Rank leader() const { return leader_; }
  // All that decides what it does from now on, for tests and logs.
  std::string describe() const;

 private:
  enum class Phase : std::uint8_t { gather, propose, commit };

  bool leads() const { return leader_ == self_; }
  bool has_from_all(const Ranks& ranks) const;
  void bury(const Ranks& dead);
  bool choose_leader();
  void follow();
  void lead();
  void propose();
  void take_vote(Rank from, const Word& word);
  void take_commit(Rank from, const Word& word);
  Word word(Word::Kind kind) const;
  void tell(Rank to, Word::Kind kind) { words_.emplace_back(to, word(kind)); }
  void tell_all(Word::Kind kind);

  const Rank self_;
  const Ranks members_;
  std::uint64_t flag_;
  Ranks dead_;
  Rank leader_ = no_rank;
  std::optional<Outcome> accepted_, outcome_;
  Rank committed_by_ = no_rank, excluded_by_ = no_rank;
  Ranks leader_awaits_;  // as it has said
  bool over_ = false;
  std::vector<std::pair<Rank, Word>> words_;
  // ---- while it leads ----
  Phase phase_ = Phase::gather;
  std::map<Rank, std::uint64_t> votes_;  // flags; also of those who knew earlier that this rank leads
  Ranks answered_;                       // in this phase
};

}  // namespace hocket::comm
