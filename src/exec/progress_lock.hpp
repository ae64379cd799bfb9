// ProgressLock: which thread progresses, and how threads wait for that. What it does is written in progress_state.hpp;
// here it is applied to an atomic word, and sleepers really sleep. A call that meets nobody takes and releases it with
// two atomic instructions and no mutex.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <vector>

#include "src/base/fd.hpp"
#include "src/exec/completion_signal.hpp"
#include "src/exec/progress_state.hpp"
#include "src/spi/status.hpp"
#include "src/spi/window.hpp"

namespace hocket {

class ProgressLock {
 public:
  static constexpr std::chrono::seconds longest_sleep{60};

  // Opens the descriptors that sleepers in poll(2) are woken by; the only rank of a communicator needs none.
  // Code::out_of_resources.
  Status open();
  progress::State state() const { return state_.load(); }

  // ---- any thread: who progresses ----
  [[gnu::always_inline]] bool try_take() {
    // Acquires what the previous holder wrote, as every change of the word does.
    progress::State state = state_.load(std::memory_order_relaxed);
    while (progress::take(state).allowed) {
      if (state_.compare_exchange_weak(state, progress::take(state).next)) return true;
    }
    return false;
  }
  // The same, only where nobody progresses or wants to, and nothing is to be done.
  [[gnu::always_inline]] bool take_from_rest() { return apply_once(progress::take_from_rest); }
  // Waits until this thread progresses. False: `done()` became true under another holder, or the deadline passed.
  template <class Done>
  bool take_unless(Done done, Deadline deadline);
  // By the holder. `leaves_work`: operations are left that somebody must complete.
  void release(bool leaves_work) {
    unannounced_ = false;
    if (!leaves_work && return_to_rest()) return;
    wake(apply([&](progress::State state) { return progress::release(state, leaves_work); }).wakes);
  }

  // The same by a caller who has started them and does not wait.
  [[gnu::always_inline]] void release_started(bool leaves_work) {
    unannounced_ = false;
    if (leaves_work ? apply_once(progress::leave_started) : return_to_rest()) return;
    release_started_now(leaves_work);
  }

  // The same where no operations are left and none has ended but the holder's own. False: somebody waits, or something
  // is to be done, and nothing has happened. Mostly neither is so: then release() wakes nobody and leaves no flag.
  // True: by a locked instruction, behind which Executor wakes whoever waits; so is release_started(), always.
  [[gnu::always_inline]] bool return_to_rest() { return apply_once(progress::return_to_rest); }

  // ---- any thread: what is to be done ----
  void submit() { wake(apply(progress::submit).wakes); }
  // Whether this is the first request, and nothing broke before.
  bool request_abort() {
    const progress::Transition transition = apply(progress::request_abort);
    wake(transition.wakes);
    return transition.allowed;
  }
  void stop() { wake(apply(progress::stop).wakes); }

  // Has `signal` raised whenever an operation has finished, until it is forgotten.
  void listen(CompletionSignal& signal);
  void forget(CompletionSignal& signal);

  // ---- the holder ----
  void accept() { apply(progress::accept); }
  void look() { apply(progress::look); }
  void show() { wake(apply(progress::show).wakes); }
  void break_down() { apply(progress::break_down); }
  // An operation has finished, and callers may wait for that. They are woken by wake_callers(), which the holder calls
  // again and again: a caller that began to wait at this very moment may have seen the operation unfinished, and yet
  // not be in the state that the holder sees now. The latest look is that of fall_asleep() or release(), which cannot
  // miss it, since they change the same word as the caller did.
  void completed() {
    unannounced_ = true;
    if (listeners_.load() != 0) tell_listeners();
  }
  // The same of one that has ended without a place in the queue, by a plain store: that comes before the look here.
  void completed_alone() {
    listeners_.fetch_add(0);
    completed();
  }
  void wake_callers() {
    if (unannounced_ && progress::has_callers(state())) announce_now();
  }
  // Before sleeping in poll(2), or on a window, which lives as long as this; false where it must not.
  bool fall_asleep() { return fall_asleep(false); }
  bool fall_asleep(Window& window) {
    window_ = &window;
    return fall_asleep(true);
  }
  void awake() { apply(progress::awake); }
  // What ends its poll(2).
  const UniqueFd& holder_event() const { return holder_event_; }

  // ---- the watcher ----
  bool take_as_watcher(bool called, bool patient = true) {
    return apply([&](progress::State state) { return progress::take_as_watcher(state, called, patient); }).allowed;
  }
  // Before its poll(2). Not `sleep`: for a moment only, because nobody will wake it for what is submitted.
  // `doze_longer`: callers have progressed so often that the moment before was too short.
  enum class Rest : std::uint8_t { sleep, doze, doze_longer };
  Rest lie_down() {
    bool longer = false;
    const auto lie_down = [&](progress::State state) {
      longer = progress::has_many_starts(state);
      return progress::lie_down(state);
    };
    if ((apply(lie_down).next & progress::dozing) == 0) return Rest::sleep;
    return longer ? Rest::doze_longer : Rest::doze;
  }
  // Has the holder look at the links, and waits until `looked()` is true, or nobody progresses or wants to.
  template <class Looked>
  void have_links_looked_at(Looked looked);
  // What ends its poll(2).
  const UniqueFd& watcher_event() const { return watcher_event_; }

 private:
  bool fall_asleep(bool on_window) {
    return apply([&](progress::State state) { return progress::fall_asleep(state, on_window, unannounced_); }).allowed;
  }
  template <class Event>
  [[gnu::always_inline]] progress::Transition apply(Event event) {
    progress::State state = state_.load(std::memory_order_relaxed);
    for (;;) {
      const progress::Transition transition = event(state);
      if (!transition.allowed || state_.compare_exchange_weak(state, transition.next)) return transition;
    }
  }
  // The same once; false also where another thread changes the word at this moment.
  template <class Event>
  [[gnu::always_inline]] bool apply_once(Event event) {
    progress::State state = state_.load(std::memory_order_relaxed);
    if (!event(state).allowed) return false;
    return state_.compare_exchange_strong(state, event(state).next);
  }
  [[gnu::noinline]] void release_started_now(bool leaves_work) {
    wake(apply([&](progress::State state) { return progress::release_started(state, leaves_work); }).wakes);
  }
  [[gnu::always_inline]] void wake(const progress::Wakes& wakes) {
    if (wakes != progress::Wakes{}) wake_now(wakes);
  }
  void wake_now(const progress::Wakes& wakes);
  void announce_now();
  void tell_listeners();

  std::atomic<progress::State> state_{0};
  bool unannounced_ = false;              // the holder's
  std::atomic<Window*> window_{nullptr};  // that the holder slept on last
  UniqueFd holder_event_, watcher_event_;
  std::mutex mutex_;  // held from a waiter's last look until it sleeps
  std::condition_variable changed_;
  std::mutex listening_;
  std::vector<CompletionSignal*> signals_;  // guarded by listening_
  std::atomic<std::size_t> listeners_{0};   // how many these are
};

template <class Done>
bool ProgressLock::take_unless(Done done, Deadline deadline) {
  if (try_take()) return true;
  wake(apply(progress::want).wakes);
  {
    std::unique_lock lock(mutex_);
    while (!done() && !deadline.passed()) {
      if (apply(progress::take_as_wanted).allowed) return true;
      changed_.wait_until(lock, earlier(deadline, Deadline::after(longest_sleep)).at());
    }
  }
  wake(apply(progress::leave).wakes);
  return false;
}

template <class Looked>
void ProgressLock::have_links_looked_at(Looked looked) {
  wake(apply(progress::call_to_links).wakes);
  {
    std::unique_lock lock(mutex_);
    // In this order: a thread that looks after this one has said that it waits wakes it.
    while (apply(progress::wait_as_watcher).allowed && !looked()) changed_.wait_for(lock, longest_sleep);
  }
  apply(progress::resume_as_watcher);
}

}  // namespace hocket
