// ProgressEngine: what the thread does that progresses. It starts operations, lets them and the transports advance,
// sleeps when nothing can be done, and breaks everything at the first failure.
#pragma once

#include <poll.h>

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "src/exec/contexts.hpp"
#include "src/exec/first_failure.hpp"
#include "src/exec/idle_time.hpp"
#include "src/exec/inbox.hpp"
#include "src/exec/lateness.hpp"
#include "src/exec/lone_messages.hpp"
#include "src/exec/one_cause.hpp"
#include "src/exec/operation_queue.hpp"
#include "src/exec/peers.hpp"
#include "src/exec/progress_lock.hpp"
#include "src/exec/recorder.hpp"
#include "src/exec/source_search.hpp"
#include "src/exec/unseen_peers.hpp"
#include "src/exec/waiting.hpp"
#include "src/exec/waking.hpp"
#include "src/exec/watcher.hpp"

namespace hocket {

// Thread rule: the thread that progresses; set_wait_budget() from any. An exception inside becomes a failure.
class ProgressEngine final : public TransportListener {
 public:
  // What the parts of an executor share; all outlive the engine.
  struct Parts {
    ProgressLock& lock;
    Inbox& inbox;
    Contexts& contexts;
    FirstFailure& failure;
    Watcher& watcher;
    Recorder& recorder;
  };
  // `alone`: this is the only rank, and nobody watches.
  ProgressEngine(const Parts& parts, Rank rank, bool alone);

  void attach(Peers* peers) { peers_ = peers; }
  bool attached() const { return peers_ != nullptr; }
  // Whether nothing runs or waits.
  bool idle() const { return queue_.empty(); }
  void set_wait_budget(const WaitBudget& budget) { budget_ = budget; }
  // Called once, when the first failure has been settled and before operations end with it.
  void on_break(std::function<void()> report) { on_break_ = std::move(report); }
  // The window of the first communicator; before the first operation. Of some peers only: then all tell each other over
  // links whom they wait for.
  void use_window(Window& window) {
    in_memory_ = static_cast<Rank>(window.size()) == peers_->size();
    if (in_memory_) lateness_.use_window(window);
  }
  // Others than that will be used, too.
  void use_several_windows() { lateness_.use_several_windows(); }

  // What a run is for.
  struct Goal {
    std::span<const std::shared_ptr<Operation>> operations = {};
    bool nobody = false;  // until nothing is left to do, or a caller wants to progress
    // In place of `operations`: until this run is finished.
    const RunEnd* run = nullptr;
    // In place of `operations`: until all of one of these sets are finished, or one of these runs.
    std::span<const std::span<const std::shared_ptr<Operation>>> any = {};
    std::span<const RunEnd* const> any_run = {};

    bool reached(const ProgressEngine& engine) const;
  };
  // Queues operations that a caller brings itself, without the inbox. Requires that nothing broke.
  void add_calls(std::span<const std::shared_ptr<Operation>> operations);
  // Runs an operation that a caller brings itself and that is the only one, without a place in the queue, which would
  // cost more than many an operation: so mostly it is over before anything else happens. Where it is not, it gets its
  // place, and run() goes on. Requires that nothing broke, that the queue is empty and that it needs_no_place(). True:
  // it has ended well, and there is nothing to rest() for.
  bool run_alone(const std::shared_ptr<Operation>& operation) {
    if (operation->uses_links() && !alone_) return messages_.run({&operation, 1});
    return run_here(operation, RanNow::nothing);
  }
  // Begins one that runs again, bound to these buffers: mostly nothing else of it changes. `over`: it has ended well,
  // and wake() is due. Else go_on() does the rest; `broken`: everything is.
  [[gnu::always_inline]] RanNow begin_again(const std::shared_ptr<Operation>& operation, const std::byte* input,
                                            std::byte* output) {
    if (!nothing_came_to_light()) return RanNow::nothing;
    Operation& running = *operation;
    running.move_on(input, output);
    try {
      const RanNow ran = running.run_now(recorder_);
      if (ran == RanNow::over) [[likely]]
        ++running.context().counters().operations;
      return ran;
    } catch (...) {
      running.take_longer();
      unqueued_.assign(1, operation);  // there is room
      break_down_for_exception();
      return RanNow::broken;
    }
  }
  // As run_alone().
  bool go_on(const std::shared_ptr<Operation>& operation, const std::byte* input, std::byte* output, RanNow ran) {
    if (ran == RanNow::broken) return false;
    if (ran == RanNow::nothing) {
      operation->bind_again(input, output);
      return run_alone(operation);
    }
    operation->take_longer();
    return run_here(operation, ran);
  }
  // Whether nothing that peers tell over links meanwhile is compared with the operation; with a collective over links
  // it is. Any thread.
  bool needs_no_place(const Operation& operation) const {
    return needs_no_place_again(operation) && !(operation.uses_links() && operation.needs_source());
  }
  // The same of one that does not receive from any rank.
  bool needs_no_place_again(const Operation& operation) const {
    return !operation.is_collective_over_links() || alone_;
  }
  // The same of messages over links.
  bool run_messages(LoneMessages::Messages messages) { return messages_.run(messages); }
  // Runs a message that has run before and that nobody uses, bound to these buffers. Its receiver is still to be woken;
  // it is not finished, since the end of its last run stands. False: it is not over at once, and is as it was but for
  // its buffers. Requires that nothing broke, and that nothing is before it in its direction.
  [[gnu::always_inline]] bool is_over_now(Operation& message, const std::byte* input, std::byte* output) noexcept {
    message.move_on(input, output);
    return recorder_.run_in_row([&] { return takes_now(message); });
  }
  // Puts another run of the latest message behind the receives that wait in its direction, where nothing else is to be
  // done; it tells `end`. False: nothing has happened. Requires that nothing broke and nothing was submitted.
  [[gnu::always_inline]] bool joins_row(const Operation& latest, std::byte* output, RunEnd& end) {
    if (messages_.is_to_look() || queue_.can_start() || !queue_.add_to_row(latest, output, end)) return false;
    messages_.count_behind_others();
    end.begin_for_others();
    return true;
  }
  // Begins messages, or small calls over a window, that a caller brings itself, behind all that was submitted before,
  // and ends those that need not wait. Requires that nothing broke.
  void start_here(LoneMessages::Messages operations) { messages_.start(operations); }
  // Starts one of these again, bound to these buffers; see LoneMessages. Requires that nothing broke.
  StartedAgain start_again(const LoneMessages::Like& like, const std::byte* input, std::byte* output, RunEnd& end) {
    return messages_.start_again(like, input, output, end);
  }
  // Whether all of these may be run alone: one, or a few messages.
  bool needs_no_places(std::span<const std::shared_ptr<Operation>> operations) const {
    return operations.size() == 1 ? needs_no_place(*operations.front()) : messages_.may_run(operations);
  }
  // Progresses until the goal is reached, the deadline has passed, or an exception has broken everything.
  void run(const Goal& goal, Deadline deadline);
  // Before progress is released. Returns whether operations are left.
  bool rest();
  // The first failure breaks everything: all that runs or waits ends with it, here and on the peers.
  void break_down(const Status& first_cause);
  void break_down(const Status& first_cause, const Operation* found_in);
  // What peers reported since the latest round; ok: nothing.
  Status take_peer_failure() { return std::exchange(peer_failure_, Status()); }

  // TransportListener.
  void peer_failed(Rank peer, const Status& seen) override;
  void peer_broke(Rank peer, const Status& why) override;
  void peer_left(Rank peer) override;
  void peer_waits(Rank peer, const Waiting& what) override;
  Status given_up() const override;
  std::string describe_communicator(std::uint32_t number, Rank peer) const override {
    return contexts_.describe(number, peer);
  }

 private:
  friend class LoneMessages;
  using Entry = OperationQueue::Entry;

  void run_rounds(const Goal& goal, Deadline deadline);
  bool round(const Goal& goal);
  bool attend(progress::State state);
  void accept();
  void start_operations();
  bool advance_operations();
  // So many messages are over since the last call, mostly the oldest that run.
  std::uint64_t newly_ended_messages() {
    const std::uint64_t ended = contexts_.ended_messages();
    return ended - std::exchange(seen_ended_, ended);
  }
  bool retire(Entry& entry);
  // One that has succeeded.
  static void count(Operation& operation) {
    Context& context = operation.context();
    ++context.counters().operations;
    if (operation.uses_links() && !operation.is_message()) context.remember(operation.tag());
  }
  static void end_well(Operation& operation) {
    count(operation);
    operation.finish_well();
  }
  // Else something concerns everything: that is left to run().
  bool nothing_came_to_light() const { return peer_failure_.ok() && departed_.empty(); }
  // Whether a message has been run here and now.
  bool runs_now(Operation& message) {
    if (!takes_now(message)) return false;
    wake(message);
    message.finish_well();
    return true;
  }
  // The same, but it is neither finished nor its receiver woken.
  bool takes_now(Operation& message) {
    if (!nothing_came_to_light() || !message.can_move()) return false;
    if (message.run_now(recorder_) != RanNow::over) return false;
    ++message.context().counters().operations;
    return true;
  }
  bool run_here(const std::shared_ptr<Operation>& operation, RanNow ran);
  Status begin(Operation& operation) {
    operation.number();
    return begin_numbered(operation);
  }
  Status begin_numbered(Operation& operation) {
    const Tag tag = operation.tag();
    recorder_.begin(operation, tag);
    return operation.begin(tag, *peers_);
  }
  bool runs_to_its_end(Operation& operation);
  bool waits_to_its_end(Operation& operation);
  void wait_no_more() {
    idle_time_.end();
    waiter_.reset();
  }
  // Nothing has happened, and `waiting`, an operation or the queue, waits. False: it is time to sleep.
  template <class Waiting>
  bool wait_on(const Waiting& waiting, Awaits what) {
    if (waiter_.asks()) waiter_.tell(what, what == Awaits::links && peers_->awaits_another_core());
    if (!idle_time_.runs() && waiter_.waits_long()) idle_time_.begin(waiting);
    return waiter_.spin(what != Awaits::links || in_memory_);
  }
  bool may_skip_links();
  // Returns how many things happened.
  std::size_t progress_links() {
    const std::size_t happened = peers_->progress();
    lateness_.pass_on(*peers_);
    return happened;
  }
  bool look_at_links();
  void check_deadlines();
  void check_departures();
  bool looks_for_unseen_peers() const { return unseen_peers_.may_be(departed_) && !queue_.empty(); }
  void check_unseen_peers();
  bool still_waits(const Operation* operation, std::uint64_t run, Rank peer) const;
  void keep_waits();
  void report_break();
  // With the exception that is being handled.
  void break_down_for_exception();
  void break_down_for(const Operation& operation, const Status& own_failure);
  const Operation* concerned_by(const Status& why) const;
  Status settle(const Status& own);
  Status in_full(const Status& first_cause, const Operation* found_in) const;
  bool close_links(const Status& cause);
  void finish_accepted(const Status& cause);
  void sleep(Deadline deadline);
  void sleep_on_links(Deadline deadline);
  void sleep_on_window(Window& window, Deadline deadline);
  MemberSet awaited_members() const;
  bool is_stopping() const { return (lock_.state() & progress::stopping) != 0; }
  bool is_broken() const { return (lock_.state() & progress::broken) != 0; }

  ProgressLock& lock_;
  Inbox& inbox_;
  Contexts& contexts_;
  FirstFailure& failure_;
  Watcher& watcher_;
  Recorder& recorder_;
  std::function<void()> on_break_;
  const Rank rank_;
  const bool alone_;
  std::atomic<WaitBudget> budget_{WaitBudget{}};
  Peers* peers_ = nullptr;

  LoneMessages messages_{*this};
  OperationQueue queue_;
  std::vector<std::shared_ptr<Operation>> unqueued_;  // ran alone when an exception came, so links may point to them
  std::vector<std::shared_ptr<Operation>> accepted_;  // on their way from the inbox to the queue
  SourceSearch search_;
  Lateness lateness_;
  UnseenPeers unseen_peers_;
  OneCause one_cause_;
  Waiter waiter_;
  IdleTime idle_time_;
  bool in_memory_ = false;        // all peers share memory with this rank: a look at a link is one at memory
  std::uint64_t seen_ended_ = 0;  // of Contexts::ended_messages()
  unsigned rounds_ = 0;           // of this run, in which nothing was done but over the window
  bool listens_ = false;          // the transports look at messages for which no receive is posted
  bool links_due_ = false;        // the links must be looked at even if nothing runs over them
  Status peer_failure_;           // reported since the latest round
  std::vector<Rank> departed_;    // peers that left in good order
  std::vector<pollfd> interests_;
  std::vector<Window*> windows_;       // of what runs, when it is time to sleep
  OperationQueue::Entries abandoned_;  // of links that could not be closed
};

}  // namespace hocket
