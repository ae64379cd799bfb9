// Regroup: how the survivors of a broken group agree on who goes on together; one rank's part. Pure: it does not wait,
// send or know the time. What has happened goes in, what is to be done comes out.
//
// The lowest rank that is not known to be gone leads, and every other one tells it that it has come. Once all have come
// who may, the leader draws the number of a new group and names its members. Each of them makes itself reachable there
// and sends its card; the leader gives each the cards of its two neighbours on the ring; then all make the group
// together. That succeeds on no rank unless every member takes part, and makes the decision final: a leader that dies
// before leaves nothing behind that could contradict the next one. A rank that fails to make the group comes to its
// leader again.
//
// A rank that keeps silent, though it may be alive, is left out when patience ends, but only by a majority of those who
// may be alive: two halves that cannot reach each other never both go on. A group that this rank could not make may
// have been made by others, whose majorities then count in that group; so there must be one of each such group, too
// (Yeger-Lotem, Keidar, Dolev: "Dynamic Voting for Consistent Primary Components", PODC 1997).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/spi/types.hpp"

namespace hocket::comm {

using Ranks = std::set<Rank>;

// What ranks tell each other meanwhile.
struct Note {
  enum class Kind : std::uint8_t {
    call = 1,    // the leader begins: whoever takes part is to come, even if it has come before
    come,        // to the leader: takes part, and has given `group` up; `ranks` are known to be gone
    patience,    // the leader's answer: it has heard, and waits for others
    leave,       // to the leader: takes part no more, or follows another one
    members,     // to the followers: `ranks` are to make the group
    card,        // to the leader: where this rank can be reached in the group
    neighbours,  // to each follower: the cards of the ranks after and before it
    excluded,    // others go on without the rank that hears this
  };
  Kind kind = Kind::come;
  std::uint64_t group = 0;
  Ranks ranks = {};
  // Of come: the groups that the sender could not make, though others may have.
  static constexpr std::size_t attempts_max = 4;
  std::set<Ranks> attempts = {};
  std::array<std::string, 2> cards = {};  // of a card, the first

  friend bool operator==(const Note&, const Note&) = default;
};

class Regroup {
 public:
  struct Config {
    Rank self = 0;
    Ranks members;           // of the broken group, this rank included
    Ranks gone = {};         // known to have ended
    Ranks silent = {};       // out of reach, though they may be alive
    Ranks blamed = {};       // left out even if they come
    bool separable = false;  // members may be alive and unable to reach each other, so blamed ones count for majorities
    bool majority = true;    // silent ranks are left out by a majority only
    std::function<std::uint64_t()> draw_group;
  };
  explicit Regroup(Config config);

  // ---- what has happened ----
  void heard(Rank from, const Note& note);
  void lost(Rank peer);          // its process has ended
  void out_of_reach(Rank peer);  // it may be alive, but there will be no notes from it
  // Nothing has come for as long as one is patient.
  void out_of_patience();
  void opened(std::string card);  // this rank can be reached in the new group
  // Whether the group was made. `missing`: for whom it waited in vain, where that is known.
  void made(bool ok, Rank missing = no_rank);

  // ---- what is to be done ----
  enum class Wish {
    wait,      // for notes and losses
    open,      // make this rank reachable in group(), then opened()
    make,      // make group() with the neighbours' cards, then made()
    done,      // group() is made
    excluded,  // by other(): this rank is left out
  };
  Wish wish() const { return wish_; }
  std::vector<std::pair<Rank, Note>> take_notes() { return std::exchange(notes_, {}); }
  // For whom it waits. One that has not made itself heard may end while this rank has no connection to it.
  Ranks awaited() const;
  // For whom it waits no more, though they may be alive.
  const Ranks& silent() const { return silent_; }
  bool leads() const { return leader_ == config_.self; }
  Rank leader() const { return leader_; }
  Rank other() const { return other_; }
  std::uint64_t group() const { return group_; }
  const Ranks& members() const { return chosen_; }
  // Of the ranks after and before this one, in the order of members().
  const std::array<std::string, 2>& neighbours() const { return neighbours_; }
  // How many times the usual patience to have from now on; it begins anew whenever steps() has grown.
  int patience() const { return leader_waits_ ? 2 : 1; }
  std::uint64_t steps() const { return steps_; }
  // All that decides what it does from now on, for tests and logs.
  std::string describe() const;

 private:
  bool may_lead(Rank rank) const;
  bool expected(Rank rank) const;
  bool choose_leader();
  void gather();
  void decide();
  bool may_go_on(const Ranks& chosen) const;
  bool is_majority(const Ranks& chosen, const Ranks& of) const;
  void take_come(Rank from, const Note& note);
  void take_card(Rank from, const Note& note);
  void begin_group(std::uint64_t group, const Ranks& members);
  void hand_out_cards();
  void tell(Rank to, Note note) { notes_.emplace_back(to, std::move(note)); }

  const Config config_;
  Ranks gone_, silent_, came_;
  std::map<Rank, std::set<Ranks>> attempts_;  // at groups that could not be made, by those who made them
  Rank leader_ = no_rank, other_ = no_rank;
  bool leader_waits_ = false;  // it has answered
  Wish wish_ = Wish::wait;
  std::uint64_t group_ = 0;  // 0: none is under way
  Ranks chosen_;             // its members
  std::map<Rank, std::string> cards_;
  std::array<std::string, 2> neighbours_;
  std::vector<std::pair<Rank, Note>> notes_;
  std::uint64_t steps_ = 0;
};

}  // namespace hocket::comm
