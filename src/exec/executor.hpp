// Executor: runs the operations of a communicator, or of several that share links, over their peers. The executor
// waits; nobody else does.
//
// One thread at a time progresses: it runs ready steps, lets the transports progress, and sleeps when there is nothing
// to do. A blocking call progresses on its caller's thread. The executor's own thread, the watcher, progresses what was
// started asynchronously, and only while no caller does. Which thread that is, is ProgressLock's business; what it
// does, ProgressEngine's.
//
// The first failure breaks the executor for good: every operation, running, queued or later, ends with that first
// cause. So does an exception, memory that runs out for instance.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "src/exec/context.hpp"
#include "src/exec/started.hpp"
#include "src/exec/waiting.hpp"
#include "src/spi/status.hpp"
#include "src/spi/transport.hpp"

namespace hocket {

class CompletionSignal;
class Operation;
class Peers;
class RunEnd;
struct Recording;

class Executor {
 public:
  struct Config {
    Rank rank = 0;           // among the peers
    Rank size = 0;           // how many these are, this one included
    bool alone = false;      // the only rank: no thread, no descriptors; what is started is done at once
    std::string name = {};   // of the first communicator, for messages
    bool says_name = false;  // messages say which communicator broke
    std::size_t steps = 0;   // so many of the latest are recorded
    // Called when it breaks, on the thread that progresses, whatever else fails; it needs no memory.
    std::function<void()> let_go = {};
    std::function<void(const Recording&)> on_break = {};  // the same after that, if memory is left
  };

  // Code::out_of_resources where descriptors ran out.
  static Result<std::unique_ptr<Executor>> make(const Config& config);
  ~Executor();
  // How long waits spin; may change at any time.
  void set_wait_budget(const WaitBudget& budget);
  // The window of the first communicator; before its first operation. All windows must outlive stop().
  void use_window(Window& window);
  // Operations will run over windows of other ranks, too. For the thread that progresses.
  void use_several_windows();
  // Must be called once, before anything else; starts the watcher. `peers` must live until stop() has returned.
  // Code::out_of_resources where threads ran out.
  Status attach(Peers& peers);
  Rank rank() const;
  // Told by the transports of `peers`, inside calls of the thread that progresses.
  TransportListener& listener();
  // The communicator that it was made for; its number is 0.
  const std::shared_ptr<Context>& first() const;
  // Another one, whose peers are among those of the first. Any thread. From now on messages say which one broke.
  std::shared_ptr<Context> add(Context::Identity identity);
  void say_names();
  // Ends everything that is pending with `why` and joins the thread. Peers are told (their close()). Idempotent.
  void stop(const Status& why);
  // What a context has exchanged with another one of its ranks. Any thread.
  struct Exchanged {
    PeerCounters::Values counted = {};
    std::chrono::nanoseconds waited{};
  };
  Exchanged exchanged(const Context& context, Rank rank) const;
  // What it has done and does. Any thread, at any time, also while all others hang.
  Recording recording() const;

  // Operations that are queued together, so that no other thread's come between. Their contexts are first(), or come
  // from add(). Whoever starts them holds them until they are over, or leaves them to themselves.
  using Operations = std::span<const std::shared_ptr<Operation>>;
  // Queues bound operations and runs them to their end on this thread. Returns how they ended, see status_of().
  Status run(Operations operations);
  // Runs an operation that has run before to its end, bound to these buffers. False: it must take its turn, by run(),
  // and nothing has happened.
  bool run_again(const std::shared_ptr<Operation>& operation, const std::byte* input, std::byte* output);
  // The same of a send from `input` and a receive into `output` that start together.
  bool run_again(Operations pair, const std::byte* input, std::byte* output);
  // Starts a message that has run before and that nobody uses, bound to these buffers, where nobody progresses. If it
  // is under way then, it tells `end` of its end, which must stay until that. No: it must take its turn, by start().
  Started start_idle(const std::shared_ptr<Operation>& idle, const std::byte* input, std::byte* output, RunEnd& end);
  // Starts another one like `latest`, which is under way: another run of that, or an idle one; null: there is none.
  StartedAgain start_beside(const std::shared_ptr<Operation>& latest, const std::shared_ptr<Operation>* idle,
                            const std::byte* input, std::byte* output, RunEnd& end);
  // Queues bound operations and returns. Of the only rank: as run(), save in a callback, which does not wait.
  Status start(Operations operations);
  // Progresses or waits until all are finished or `deadline` passes (then Code::in_progress).
  Status wait(Operations operations, Deadline deadline);
  // The same until this run is.
  Status wait(const RunEnd& run, Deadline deadline);
  // The same until all of at least one of the sets are finished, or one of the runs.
  Status wait_any(std::span<const Operations> sets, std::span<const RunEnd* const> runs, Deadline deadline);
  // Raises `signal` after each operation that ends from now on, until forget(). Any thread.
  void listen(CompletionSignal& signal);
  void forget(CompletionSignal& signal);
  // Runs `work` while nobody progresses, for what must call the transports directly. For creation only: waits without
  // bound for the thread that progresses.
  Status with_exclusive_progress(const std::function<Status()>& work);
  // Breaks it from any thread, in any state, on behalf of this communicator. Returns at once.
  void abort(const Status& why, const Context& context);
  // Ok while it works, else what broke it.
  Status broken() const;

 private:
  struct Parts;
  class ProgressGuard;

  explicit Executor(const Config& config);

  template <class Goal, class Done>
  bool wait_until(const Goal& goal, Done done, Deadline deadline);
  [[gnu::noinline]] StartedAgain start_taken(const std::shared_ptr<Operation>* latest,
                                             const std::shared_ptr<Operation>* idle, const std::byte* input,
                                             std::byte* output, RunEnd& end);
  // What run_again() has begun; progress is taken, and is given back.
  [[gnu::noinline]] void finish_again(const std::shared_ptr<Operation>& operation, const std::byte* input,
                                      std::byte* output, RanNow ran);
  bool may_start_here() const;
  bool starts_here(Operations operations);
  bool submit(Operations operations);
  Status refuse(Operations operations);
  void finish_alone(Operations operations);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace hocket
