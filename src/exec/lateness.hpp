// Lateness: which operations are late, and whose fault that is. A rank that has waited for a while tells its peers; who
// is asked in this way and waits, too, answers, and all tell again where what they know has changed. So each soon knows
// the end of its chain of waits (WaitChains), and which rank is to say so first.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "src/exec/contexts.hpp"
#include "src/exec/operation_queue.hpp"
#include "src/exec/wait_chains.hpp"

namespace hocket {

// Thread rule: the thread that progresses.
class Lateness {
 public:
  explicit Lateness(Rank rank) : rank_(rank), told_(rank) {}
  // Memory of all peers: then they need not tell each other over links whom they wait for.
  void use_window(Window& window) { lines_.emplace(window); }
  // Operations run on several windows: who waits on one tells its members over links, too, in which call, since these
  // may wait on another.
  void use_several_windows() { several_windows_ = true; }

  // A peer told that it waits, or waits no more. `peers`: how many there are.
  void hear(Rank peer, const Waiting& what, Rank peers);

  // Passes on what has been heard and is news to others. To be called soon after hear(), but not inside it.
  void pass_on(Peers& peers) {
    if (!to_pass_on_.empty()) pass_on_now(peers);
  }

  // An operation that runs and is given up, and whose fault that is.
  struct Late {
    const Operation* operation;
    Operation::Missing missing;
    Rank culprit;
  };
  // The first of those. Tells peers where this rank waits, when it is time; `told_over_window`: whether an operation
  // over a window is among those that are told of.
  std::optional<Late> find(OperationQueue& queue, Peers& peers, bool& told_over_window);
  // Whether this rank has said that it waits, and nothing since.
  bool tells() const { return tells_; }
  // When find() has something to do.
  Deadline next_look(const OperationQueue& queue) const;
  // An operation is complete: where nothing waits any more, those hear of it that were told.
  void ended(const OperationQueue& queue, Peers& peers) {
    if (tells_) retract(queue, peers);
  }

  // Whether to hear what peers say also behind messages that nobody receives yet.
  static void listen_behind_messages(bool on, Peers& peers);
  // Whose fault it is that a receive from any rank finds no message.
  Blame blame_of_search(const Operation& receive, const Peers& peers) const;

  // Of a peer that did not connect in time: it may wait itself, for the one that is at fault. `communicator`: the
  // number of that in which this rank needs it.
  Status of_late_peer(const Status& why, std::uint32_t communicator, const Peers& peers) const;

  Status did_not_finish(const Late& late, const Contexts& contexts) const;
  static Status could_not_begin(const Operation& operation);

 private:
  // What a peer was told last.
  struct Said {
    Waiting what;
    Deadline::Clock::time_point at;
  };

  // Operations that have waited for a while.
  struct Waits {
    const Operation* first = nullptr;  // null: none
    std::vector<Operation*> due;       // those that are to say so
    std::vector<Rank> awaited;         // by any of them
    bool over_window = false;          // one of those that are due runs there
  };

  const WaitChains& chains() const { return lines_ ? static_cast<const WaitChains&>(*lines_) : told_; }
  Blame blame_of(const Operation& waiting, std::span<const Rank> awaited, Peers& peers) const;
  // Whether this rank has dialled the peer, so that it would be connected by now, unless it is stopped.
  bool would_answer(Rank peer, const Peers& peers) const;
  static Waits waits(OperationQueue& queue, Deadline::Clock::time_point now);
  void look(OperationQueue& queue, Peers& peers, bool& told_over_window);
  void spread(const Operation& waiting, const Blame& blame, Peers& peers);
  void tell_members(const Operation& operation, const Blame& blame, Peers& peers);
  void tell(Rank peer, const Waiting& what, Peers& peers);
  void note_news(Rank from, const Waiting& what, Rank peers);
  void pass_on_now(Peers& peers);
  void retract(const OperationQueue& queue, Peers& peers);
  // Where nothing waits for others: also what goes on may wait for this rank's own stream alone by now.
  void take_back(Peers& peers);

  const Rank rank_;
  ToldChains told_;
  std::optional<LifeLines> lines_;
  bool several_windows_ = false;
  bool tells_ = false;
  std::map<Rank, Said> said_;
  std::map<Rank, Said> passed_on_;                    // by the rank that is missing
  std::vector<std::pair<Rank, Waiting>> to_pass_on_;  // to whom
  Deadline next_look_ = Deadline::never();
};

}  // namespace hocket
