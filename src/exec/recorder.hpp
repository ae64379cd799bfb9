// Recorder: the flight recorder of an executor, that is its latest operations, when they began and ended, and what
// waits now. The thread that progresses writes; any thread may read, at any time, without a lock that a hanging call
// could hold: so what happened can be seen of a process that hangs, too.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "src/exec/operation.hpp"
#include "src/exec/operation_record.hpp"
#include "src/plan/direct/path.hpp"
#include "src/spi/transport.hpp"

namespace hocket {

// One operation as it was recorded. Times are those of the steady clock.
struct RecordedOperation {
  Tag tag;              // the call's number modulo 2^32
  Rank peer = no_rank;  // of a message: the other end, as the executor's peers are numbered
  std::optional<DirectPath> path = {};
  Deadline::Clock::time_point began = {};
  std::optional<Deadline::Clock::time_point> ended = {};  // nothing: it runs, or failed
  bool exact = true;  // else a message that was over at once, some time from `began` to `ended`
};

// An operation that has waited for a while, or did when everything broke.
struct RecordedWait {
  Tag tag;
  Rank peer = no_rank;             // of a message that has begun, as above
  bool begun = false;              // else it waits for operations before it, or for a message from any rank
  double seconds = 0;              // since its first look at the clock, which comes soon after its beginning
  std::vector<Rank> awaited = {};  // peers, the likeliest culprits first
  std::string text = {};           // the same for people
};

// Thread rule: begin(), end() and show_waits() by the thread that progresses; all else by any thread.
class Recorder {
 public:
  static constexpr std::size_t capacity = 1024;

  Recorder();

  // An operation begins; `tag` is its tag(), but for the call. What is returned may be told of its end where no other
  // has begun meanwhile.
  [[gnu::always_inline]] OperationRecord& begin(Operation& operation, const Tag& tag) {
    OperationRecord& record = *next_.load(std::memory_order_relaxed);
    record.begin(tag, operation.signature(), operation.detail());
    pass(record, operation);
    return record;
  }
  // One that has begun and ended at once.
  [[gnu::always_inline]] void add(Operation& operation, const Tag& tag) {
    OperationRecord& record = *next_.load(std::memory_order_relaxed);
    record.add(tag, operation.signature(), operation.detail());
    pass(record, operation);
  }
  // The same of a message.
  [[gnu::always_inline]] void add_message(Operation& operation, const Tag& tag) {
    untimed_ ? add_untimed(operation, tag) : add(operation, tag);
  }
  // Calls `run`, which may add one message, one of several that were started, and says whether it has. Of those in
  // quick succession one in a few is timed, and the others lie between two of these: to read the processor's counter
  // takes an eighth of the time of such a message.
  template <class Run>
  bool run_in_row(const Run& run) {
    untimed_ = untimed_left_ != 0;
    const bool added = run();
    const bool timed = !std::exchange(untimed_, false);
    if (added) timed ? time_row() : void(--untimed_left_);
    return added;
  }
  // One that has begun, whatever has begun meanwhile.
  static void end(const Operation& operation) {
    OperationRecord& record = *operation.record();
    // Else 1,024 others have begun meanwhile.
    if (record.sequence() == static_cast<std::uint32_t>(operation.sequence())) [[likely]]
      record.end();
  }
  // What waits now, in place of what was shown before.
  void show_waits(std::vector<RecordedWait> waits, Deadline believed_until);
  Deadline::Clock::time_point waits_shown_at() const { return shown_at_; }

  // What turns ticks of the processor's counter into time, for a while from now on.
  std::function<Deadline::Clock::time_point(std::uint64_t ticks)> clock() const;
  // How long so many ticks of the processor's counter take.
  std::chrono::nanoseconds time_in(std::uint64_t ticks) const;
  // The latest operations, at most `capacity`, the first one first. One that is being written is left out.
  std::vector<RecordedOperation> operations() const;
  // What waited when it was shown last; nothing once that is not to be believed any more.
  std::vector<RecordedWait> waits() const;

 private:
  static constexpr std::uint32_t untimed_max = 3, quick_ticks = 16384;  // some five microseconds for all of them

  // Messages to come are as quick as the latest ones were, of which the last one is timed.
  void time_row() {
    const OperationRecord* const next = next_.load(std::memory_order_relaxed);
    const TickStamp::Ticks now = (next == records_.get() ? end_ : next)[-1].began();
    const TickStamp::Ticks before = std::exchange(latest_time_, now);
    untimed_left_ = now.high == before.high && now.low - before.low < quick_ticks ? untimed_max : 0;
  }
  [[gnu::noinline]] void add_untimed(Operation& operation, const Tag& tag) {
    OperationRecord& record = *next_.load(std::memory_order_relaxed);
    record.add_untimed(tag, operation.signature(), operation.detail(), latest_time_);
    pass(record, operation);
  }
  // The record of this operation is written.
  void pass(OperationRecord& record, Operation& operation) {
    operation.set_record(&record);
    OperationRecord* behind = &record + 1;
    if (behind == end_) [[unlikely]]
      behind = records_.get();
    next_.store(behind, std::memory_order_release);
  }

  // One more than are shown: that which is written next may be half written.
  static constexpr std::size_t slots = capacity + 1;

  std::vector<OperationRecord::Contents> copy() const;

  // Where the processor's counter and the clock stood at the same time.
  struct Moment {
    std::uint64_t ticks;
    Deadline::Clock::time_point time;

    static Moment now();
  };
  // Of the processor's counter.
  double nanoseconds_per_tick(const Moment& now) const;

  const Moment made_ = Moment::now();
  const std::unique_ptr<OperationRecord[]> records_;
  const OperationRecord* const end_ = &records_[slots];
  std::atomic<OperationRecord*> next_;
  // The writer's own.
  TickStamp::Ticks latest_time_;    // of a message in a row
  std::uint32_t untimed_left_ = 0;  // so many are to come before the next one is timed
  bool untimed_ = false;            // the one that is added now, if one is
  Deadline::Clock::time_point shown_at_ = {};
  mutable std::mutex mutex_;
  std::vector<RecordedWait> waits_;              // guarded by mutex_
  Deadline believed_until_ = Deadline::never();  // likewise
};

}  // namespace hocket
