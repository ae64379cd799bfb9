// OperationQueue: the operations of an executor that run, and those that wait for others.
//
// Messages of one direction of a link must leave and arrive in the order of the calls, on both sides; so of two
// operations that use the same direction, or the same window, the later waits for the earlier. Each of these resources
// has a line of the operations that claim it. An operation may start when it is first in all of its lines, and when it
// ends, only those behind it are looked at: what that costs does not grow with the number of operations that wait.
//
// Messages may run side by side where the link has those before and keeps their order: one that has begun behind others
// that run takes its place in its line, and among what runs. One that waits for its data first, from a device, has
// given the link nothing when it begins: nothing overtakes it. Short receives need not even begin: those of one
// direction follow one that runs, without places of their own, and take its place one after the other. Those that are
// like the one that runs need not even be operations: that runs for each of them in turn.
//
// A receive from any peer claims the incoming direction of every peer of its communicator. It searches while it is
// first in one of these lines, and starts when such a peer has sent something; then it leaves the other lines.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "src/base/fifo.hpp"
#include "src/exec/operation.hpp"
#include "src/exec/waiting.hpp"

namespace hocket {

// Thread rule: the thread that progresses.
class OperationQueue {
 public:
  struct Entry;
  using Entries = std::list<Entry>;
  // A place in a line.
  struct Claim {
    Entry* entry = nullptr;  // null: given up
    std::size_t line = 0;
    Claim* before = nullptr;
    Claim* behind = nullptr;
  };
  // A receive behind another one.
  struct Follower {
    // Held by its caller until it is over, or by itself. Null: that of the entry runs again, into `output`, and tells
    // `end`.
    Operation* operation = nullptr;
    std::byte* output = nullptr;
    RunEnd* end = nullptr;
    Deadline::Clock::time_point clock_began = {};  // none: its clock does not run yet

    void finish(const Status& cause) const { operation != nullptr ? operation->finish(cause) : end->end_as(0, cause); }
  };
  struct Entry {
    std::shared_ptr<Operation> operation;
    Window* window = nullptr;   // the operation's
    std::vector<Claim> claims;  // of a receive from any: by rank
    Fifo<Follower> followers;
    std::size_t first_in = 0;  // of how many lines it is the first
    Entries* list = nullptr;   // the one that it is in
    Entries::iterator self;
  };

  // Adds it behind all that were added before. `peers`: how many there are. If memory runs out, nothing has happened.
  void add(std::shared_ptr<Operation> operation, Rank peers);
  // Whether nothing claims this direction.
  bool is_free(const Direction& direction) const {
    const std::size_t line = line_of(direction);
    return line >= lines_.size() || lines_[line].last == nullptr;
  }
  // Whether a message may begin in this direction: the link has all that is before it there, and that is not too much.
  bool may_begin(const Direction& direction) const;
  // Adds one that has begun. If memory runs out, nothing has happened.
  void add_begun(std::shared_ptr<Operation> message, Rank peers);
  // The last one in a message's direction, if the message may follow that: it is put behind its followers. Null: it may
  // not, or there is none.
  Entry* entry_to_follow(const Operation& message);
  // Puts a message there. False: it may not follow. If memory runs out, nothing has happened.
  bool add_follower(Operation& message);
  // The entry behind whose followers this message may run again for another caller, since it runs there. Null: there is
  // none.
  Entry* row_of(const Operation& message) {
    return row_ != nullptr && row_->operation.get() == &message ? row_ : find_row(message);
  }
  // Puts it behind those followers, where the latest row_of() has found that entry and no memory is needed. False:
  // nothing has happened.
  [[gnu::always_inline]] bool add_to_row(const Operation& message, std::byte* output, RunEnd& end) {
    if (row_ == nullptr || row_->operation.get() != &message || row_->followers.full()) return false;
    row_->followers.push_back({.output = output, .end = &end});
    return true;
  }
  // The next operation that may start; from now on it runs. Null: there is none.
  Entry* start_next();
  // Lets a receive from any that searches take its message from this rank; then start_next() returns it.
  void take_from(Entry& receive, Rank rank);
  // Whether a receive from any that searches is first in the line of this rank.
  static bool is_first_for(const Entry& receive, Rank rank) {
    return receive.claims[static_cast<std::size_t>(rank)].before == nullptr;
  }
  // It has ended, and nothing follows it: those behind it may start.
  std::shared_ptr<Operation> remove(Entry& entry);
  // It has ended, and the first of what follows it has its place from now on.
  void replace(Entry& entry);
  // Takes out everything.
  Entries take_all();

  Entries& running() { return running_; }
  const Entries& running() const { return running_; }
  const Entries& waiting() const { return waiting_; }
  Entries& searching() { return searching_; }
  const Entries& searching() const { return searching_; }
  bool can_start() const { return !startable_.empty(); }
  bool empty() const { return size_ == 0; }
  // Whether something runs, over windows, and none of it over links.
  bool only_window() const { return running_over_links_ == 0 && !running_.empty(); }
  // Where the next that happens to what runs will be seen. `exactly`: whether that is little is to be found out, too.
  Awaits awaits(bool exactly) const {
    if (!only_window()) return Awaits::links;
    return exactly && runs_small_data() ? Awaits::window_for_small_data : Awaits::window;
  }

  // The windows of what runs, each once.
  void list_windows(std::vector<Window*>& windows) const;

  // Whether any of what runs does something of its own; else it is messages that links bring to their end.
  bool must_advance() const { return running_for_links_ < running_.size(); }

  // When one of those that wait or search may have to be given up.
  Deadline next_verdict() const { return next_verdict_; }
  // Finds it again, without those that have left. Call when it has passed.
  void find_next_verdict();
  // What follows others has no verdict of its own, since those end before it; its time counts from here on.
  void begin_clocks_of_followers();
  // When an operation that has not started is given up: a receive from any at its deadline; others a moment later, as
  // those that they wait for tell a better cause.
  static Deadline verdict_for(const Operation& operation);
  static constexpr std::chrono::milliseconds grace{1000};
  // After the deadline a link that is not connected is left to those who know why the peer does not come, but not for
  // so long that they would blame this rank.
  static constexpr std::chrono::milliseconds link_grace = grace / 2;

 private:
  struct Line {
    Claim* first = nullptr;
    Claim* last = nullptr;
  };
  static constexpr std::size_t side_by_side_max = 256;  // all of which are looked at again and again

  static std::size_t line_of(const Direction& direction) {
    return 2 * static_cast<std::size_t>(direction.peer) + (direction.outgoing ? 1 : 0);
  }
  std::size_t line_of(const Window& window, Rank peers);
  Entries make_entry();
  Entry& put_in(std::shared_ptr<Operation> operation, Rank peers, Entries& list);
  void claim(Entry& entry, std::size_t line);
  void give_up(Claim& claim);
  static void move(Entry& entry, Entries& to);
  void count_running(const Operation& operation, bool begins);
  void move_if_first(Entry& entry);
  bool runs_small_data() const;
  Entry* find_row(const Operation& message);

  // Of both directions of each peer, then of each window.
  std::vector<Line> lines_;
  std::vector<const Window*> windows_;
  // An entry is in one of these.
  Entries waiting_, searching_, startable_, running_;
  Entries spare_;                                               // for operations to come
  std::size_t size_ = 0;                                        // of all four
  std::size_t running_over_links_ = 0, running_for_links_ = 0;  // the latter: is_for_links_alone()
  Deadline next_verdict_ = Deadline::never();
  Entry* row_ = nullptr;  // that row_of() has found, while no place but its followers' has changed
};

}  // namespace hocket
