// RunEnd: how one run of an operation ends, for those who wait for that, ask to be called, or leave. An operation has
// one of its own; where one operation runs for several handles in turn, it tells theirs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "src/spi/status.hpp"

namespace hocket {

// Thread rule: finished(), and what requires it, by any thread; leave() and on_complete() by the caller whose run it
// is; all else by the thread that progresses, or before the run begins.
class RunEnd {
 public:
  RunEnd() = default;
  virtual ~RunEnd() = default;
  RunEnd(const RunEnd&) = delete;
  RunEnd& operator=(const RunEnd&) = delete;

  bool finished() const { return state_.load(std::memory_order_acquire) == over; }
  // These require finished().
  const Status& status() const { return status_; }

  // Given the result.
  using Callback = std::function<void(Code)>;
  // Has `callback` called once: when the run is over, on the thread that progresses, or now, if it is. False: another
  // is to be called already. Requires that it may be asked.
  bool on_complete(Callback callback);
  // Calls it; what it throws is logged. On a thread that is inside a callback: when that one has returned.
  static void call_back(Callback callback, Code result);
  // Whether this thread is inside a callback. There it may not wait: others may wait for this very thread.
  static bool in_callback() { return last_called_ != nullptr; }

  // Of a message: in its direction; of a collective: in its communicator. Of the latest run that has begun.
  std::uint64_t sequence() const { return sequence_; }

  // A run begins that may be asked for.
  void begin_for_others() {
    may_be_asked_ = true;
    begin_run();
  }
  // The run ends as an operation's that has run for it.
  void end_as(std::uint64_t sequence, const Status& status) {
    sequence_ = sequence;
    if (!status.ok()) status_ = status;
    end(status.code());
  }
  void end_well_as(std::uint64_t sequence) {
    sequence_ = sequence;
    end(Code::ok);
  }
  // Nobody has taken the run to run it, so it is as it was before it began.
  void take_back() noexcept { state_.store(over, std::memory_order_release); }

 protected:
  // Nobody will ask any more. True: the run goes on, and release_itself() is called at its end. False: it is over.
  bool leave() noexcept;
  // Nobody needs this any more; it may be gone then.
  virtual void release_itself() noexcept = 0;
  void begin_run() {
    if (!status_.ok()) status_ = Status();
    state_.store(running, std::memory_order_relaxed);
  }
  // The same where that ends well at once, and nobody has looked.
  void run_longer() { state_.store(running, std::memory_order_relaxed); }
  // Of a run with this result.
  void end(Code code) {
    if (!may_be_asked_) return state_.store(over, std::memory_order_release);
    const State before = state_.exchange(over, std::memory_order_acq_rel);
    if (before != running && before != over) end_for_others(code, before);
  }

  bool may_be_asked_ = false;
  std::uint64_t sequence_ = 0;
  Status status_;

 private:
  using State = std::uintptr_t;
  static constexpr State running = 0, given_up = 1, over = 2;  // else a Call, and `given_up` where that is so, too
  struct Call;                                                 // a callback on its way
  static void call_back(std::unique_ptr<Call> call) noexcept;
  // Of those that this thread calls; null: none.
  static constinit thread_local Call* last_called_;

  void end_for_others(Code code, State before);  // this may be gone then

  std::atomic<State> state_{over};
};

}  // namespace hocket
