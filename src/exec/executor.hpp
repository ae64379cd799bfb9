// Executor: runs the operations of a communicator, or of several that share links, over their peers. The executor
// waits; nobody else does.
//
// One thread at a time drives: it runs ready steps, lets the transports progress, and sleeps when there is nothing to
// do. A blocking call drives on its caller's thread. The executor's own thread drives what was started asynchronously,
// and only while no caller does; a caller who needs the driving gets it. While nobody drives, that thread sleeps on
// what tells of a peer's end, so that a death is noticed and passed on also by a rank that is busy elsewhere.
//
// The first failure breaks the executor for good: every operation, running, queued or later, ends with that first
// cause.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "src/base/fd.hpp"
#include "src/exec/busy_resources.hpp"
#include "src/exec/operation.hpp"
#include "src/exec/peers.hpp"
#include "src/exec/waiting.hpp"

namespace hocket {

class Executor final : public TransportListener {
 public:
  struct Config {
    Rank rank = 0;           // among the peers
    bool alone = false;      // the only rank: no thread, no descriptors; what is started is done at once
    std::string name = {};   // of the first communicator, for messages
    bool says_name = false;  // messages say which communicator broke
  };

  // `peers` must outlive stop(). Code::out_of_resources where descriptors or threads ran out.
  static Result<std::unique_ptr<Executor>> make(const Config& config);
  ~Executor() override;
  // How long waits spin; may change at any time.
  void set_wait_budget(const WaitBudget& budget) { budget_ = budget; }
  // The window that direct operations run on; before the first of them. It must outlive stop().
  void use_window(Window& window) { window_ = &window; }
  // Must be called once, before anything else; starts the watching thread. `peers` must live until stop() has returned.
  Status attach(Peers& peers);
  Rank rank() const { return config_.rank; }
  // The communicator that it was made for; its number is 0.
  const std::shared_ptr<Context>& first() const { return first_; }
  // Another one, whose peers are among those of the first. Any thread. From now on messages say which one broke.
  std::shared_ptr<Context> add(Context::Identity identity);
  void say_names() { says_names_ = true; }
  // Ends everything that is pending with `why` and joins the thread. Peers are told (their close()). Idempotent.
  void stop(const Status& why);

  // Operations that are queued together, so that no other thread's come between.
  using Operations = std::span<const std::shared_ptr<Operation>>;
  // Queues bound operations and runs them to their end on this thread. Returns how they ended, see status_of().
  Status run(Operations operations);
  // Queues bound operations and returns. Of the only rank: as run(), save in a callback, which does not wait.
  Status start(Operations operations);
  // Drives or waits until all are finished or `deadline` passes (then Code::in_progress).
  Status wait(Operations operations, Deadline deadline);
  // Runs `work` while nobody drives, for what must call the transports directly. For creation only: waits without bound
  // for a driver who rests.
  Status with_exclusive_progress(const std::function<Status()>& work);
  // Breaks it from any thread, in any state, on behalf of this communicator. Returns at once.
  void abort(const Status& why, const Context& context);
  // Ok while it works, else what broke it.
  Status broken() const;

  // TransportListener: called by transports inside the driver's calls.
  void peer_failed(Rank peer, const Status& why) override;
  void peer_left(Rank peer) override;
  void peer_waits(Rank peer, const Tag& tag) override;
  std::string describe_communicator(std::uint32_t number, Rank peer) const override;

 private:
  using Queue = std::deque<std::shared_ptr<Operation>>;

  explicit Executor(const Config& config);

  bool submit(Operations operations);
  Status refuse(Operations operations);
  void finish_alone(Operations operations);
  std::shared_ptr<Context> find_context(std::uint32_t number, Rank peer) const;
  bool try_driving();
  bool take_driving(Operations operations, Deadline deadline);
  void give_driving();
  void wake_driver();

  // For the driver only.
  bool run_alone(const std::shared_ptr<Operation>& operation);
  template <class Enough>
  void drive(Enough enough, Deadline deadline);
  void drive_for_nobody();
  bool round();
  void take_submissions();
  void accept_submissions();
  void start_operations();
  bool has_sent(Rank peer, const Context& context) const;
  bool somebody_has_sent() const;
  bool find_source(Operation& receive);
  Deadline end_of_search() const;
  Status nobody_sends(const Operation& receive, Code code, std::string_view why, Rank peer) const;
  Status nobody_sent(const Operation& receive) const;
  bool all_have_left(const Context& context) const;
  Status nobody_is_left(const Operation& receive) const;
  bool advance_operations();
  void check_deadlines();
  void give_up(const Operation& operation, const Operation::Missing& missing);
  Deadline wake_up_for(const Operation& operation) const;
  void check_departures();
  void break_down_for(const Operation& operation, const Status& own_failure);
  void sleep(Deadline deadline);
  void sleep_on_links(Deadline deadline);
  void sleep_on_window(Window& window, Deadline deadline);
  bool must_look_again() const;
  void break_down(const Status& first_cause);
  void break_down(const Status& first_cause, const Operation* found_in);
  const Operation* concerned_by(const Status& why) const;
  Status with_context(const Status& status, const Operation* operation) const;
  Status named(const Status& status, const Context& context) const;

  void show_watcher();
  bool look_at_links();
  void watch_loop();

  const Config config_;
  const std::shared_ptr<Context> first_;
  std::atomic<bool> says_names_;
  mutable std::mutex contexts_mutex_;
  std::vector<std::weak_ptr<Context>> others_;  // guarded by contexts_mutex_
  std::atomic<WaitBudget> budget_{WaitBudget{}};
  Peers* peers_ = nullptr;
  std::atomic<Window*> window_{nullptr};
  UniqueFd driver_wake_;  // ends the driver's sleep
  UniqueFd watch_wake_;   // ends the watcher's sleep

  mutable std::mutex mutex_;
  std::condition_variable changed_;  // driving ended, or an operation finished while somebody waits
  // BusyResources without mutex_. Who waits for it says so (waiters_, watcher_waits_) before a last try under mutex_;
  // who gives it looks afterwards whether anybody waits. So a call that meets nobody touches no lock.
  std::atomic<bool> driving_{false};
  std::atomic<int> waiters_{0};  // callers who want to drive
  std::atomic<bool> watcher_waits_{false};
  std::atomic<bool> left_over_{false};  // by the latest driver: operations that run or are queued
  std::vector<pollfd> watched_;         // what the watcher sleeps on, as the driver last saw it
  std::optional<Deadline> watch_until_;
  std::uint64_t watch_version_ = 0;
  Queue submitted_;
  Status broken_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> has_submissions_{false};
  std::atomic<bool> wanted_{false};  // waiters_ > 0
  std::atomic<bool> sleeping_{false};
  std::atomic<bool> peers_call_{false};  // the watcher saw something that the driver must look at
  std::atomic<bool> is_broken_{false};
  std::atomic<bool> abort_requested_{false};
  Status abort_cause_;  // guarded by mutex_

  // The driver's.
  Waiter waiter_;
  unsigned rounds_ = 0;
  bool links_rest_ = false;    // everything that runs does so over the window
  bool gives_way_ = false;     // to callers: the driver is the executor's own thread
  Queue queued_;               // accepted, not started
  BusyResources busy_;         // for the time of start_operations()
  std::size_t searching_ = 0;  // operations in the queue that receive from any peer
  Rank next_source_ = 0;       // where they look first
  std::vector<std::shared_ptr<Operation>> running_;
  bool queue_changed_ = false;
  Status peer_failure_;         // reported since the last round
  std::vector<Rank> departed_;  // peers that left in good order
  // Where a peer said last that it waits, and when this was heard.
  struct Told {
    Tag tag;
    Deadline::Clock::time_point at;
  };
  std::map<Rank, Told> told_waits_;
  std::vector<pollfd> interests_;
  std::uint64_t watched_epoch_ = 0;

  std::thread watcher_;
};

}  // namespace hocket
