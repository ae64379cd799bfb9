// ReadingPace: how soon a rank that only receives looks for more. Reading each message as it comes slows its sender
// down: over loopback the sender's core delivers messages to the receiver's socket, the receiver's core acknowledges
// them at the sender's, and every message takes a system call on both. So a rank that has read small messages again and
// again, and has sent nothing over this transport, reads at intervals, as long as each of them brings several messages.
// What it sends ends that, since others may wait for what follows from what it receives, and so does a thread that is
// about to sleep or asks for a look at everything.
#pragma once

#include <algorithm>
#include <chrono>

namespace hocket::tcp {

template <class Clock>
class BasicReadingPace {
 public:
  // About what two messages cost their sender. No message is read later than that after it came, if this rank looks.
  static constexpr std::chrono::microseconds interval{10};
  static constexpr int reads_in_row = 32;  // before the first interval, and after one that was in vain

  // This rank has something to send.
  void sent() {
    row_ = 0;
    rests_ = rested_ = false;
  }
  // A peer's small messages have been read, one or several.
  void read(bool several) {
    has_read_ = true;
    several_ = several_ || several;
  }
  // All links have been asked once. What was read begins an interval.
  void end_round() {
    if (!has_read_) return;
    const bool in_vain = rested_ && !several_;
    row_ = in_vain ? 0 : std::min(row_, reads_in_row) + 1;
    has_read_ = several_ = false;
    rests_ = rested_ = row_ > reads_in_row;
    if (rests_) end_ = Clock::now() + interval;
  }
  // Somebody wants to know now.
  void hurry() { rests_ = false; }

  // Whether the kernel need not be asked yet.
  bool rests() {
    rests_ = rests_ && Clock::now() < end_;
    return rests_;
  }

 private:
  int row_ = 0;                              // rounds that read something, since this rank last sent
  bool has_read_ = false, several_ = false;  // in this round
  bool rests_ = false;
  bool rested_ = false;  // before the last round that read something
  typename Clock::time_point end_{};
};

using ReadingPace = BasicReadingPace<std::chrono::steady_clock>;

}  // namespace hocket::tcp
