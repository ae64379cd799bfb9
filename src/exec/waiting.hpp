// How long a waiter spins before it sleeps. Spinning takes a core away from the rank that is waited for when ranks
// outnumber cores, so the budget follows their ratio.
#pragma once

#include <immintrin.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "src/spi/types.hpp"

namespace hocket {

// For ppoll(2): milliseconds would be too long for who looks at a GPU.
inline timespec span_until(Deadline deadline) {
  const auto left = deadline.remaining();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  return {.tv_sec = static_cast<std::time_t>(seconds.count()), .tv_nsec = static_cast<long>((left - seconds).count())};
}

struct WaitBudget {
  int pauses = 0;  // polls with a pause between them
  int yields = 0;  // then polls with a yield between them; then sleep

  static WaitBudget for_ranks(int ranks_on_host, int cores) {
    // Measured on two cores: 2 ranks over a window take 0.6 µs with pauses and 3 µs without; 4 ranks are fastest with 1
    // to 10 yields; beyond 20 a waiter now and then keeps its core for a whole slice of the scheduler (4 ms).
    if (ranks_on_host <= cores) return {.pauses = 200, .yields = 100};
    return {.pauses = 0, .yields = 5};
  }
};

// Leaves the core to others for a moment. False: they kept it for longer than ranks do that wait themselves.
struct OwnCore {
  static bool yield() {
    constexpr std::chrono::milliseconds longest{1};
    const auto before = std::chrono::steady_clock::now();
    ::sched_yield();
    return std::chrono::steady_clock::now() - before <= longest;
  }
};

// The waits of a thread that progresses, one after another. Where ranks could each have a core, theirs may be busy.
// The scheduler may run two of them on one, so that all pauses are in vain: a wait that ended with its first yields
// makes the next ones begin with these. Or a program that never waits is on it, to which each yield leaves the core for
// a slice of the scheduler (4 ms), a thousand times what a small call takes: the next waits that would yield pause for
// longer instead, as long as a rank takes to wake up that slept meanwhile.
template <class Core>
class BasicWaiter {
 public:
  static constexpr int pauses_in_a_call = 25;
  static constexpr int longer = 20;  // times as many pauses, in place of yields

  void set(const WaitBudget& budget) { budget_ = budget; }

  // What was waited for has happened, at least in part.
  void reset() {
    const int yields = polls_ - budget_.pauses;
    if (yields > 0 && waits_without_yields_ > 0) {
      const bool in_vain = polls_ >= longer * budget_.pauses;  // as where the rank that is waited for wants this core
      waits_without_yields_ = std::max(waits_without_yields_ - (in_vain ? waits_between_trials / 4 : 1), 0);
    } else if (lost_core_) {
      waits_without_yields_ = waits_between_trials;
      waits_without_pauses_ = 0;
    } else if (paused_ && yields > 0 && yields <= telling_yields) {
      waits_without_pauses_ = waits_between_trials;
    }
    polls_ = 0;
    paused_ = lost_core_ = false;
  }
  // Whether this wait has lasted for so many polls that it is worth a look at the clock.
  bool waits_long() const { return polls_ >= std::min(budget_.pauses, short_pauses); }
  // Call once for each poll that found nothing. False when it is time to sleep. `cheap`: a poll is a look at memory,
  // not a system call, which takes as long as many pauses.
  bool spin(bool cheap) {
    const bool yields = waits_without_yields_ == 0 || budget_.pauses == 0;
    if (polls_ == 0 && yields && waits_without_pauses_ > 0) {
      --waits_without_pauses_;
      polls_ = budget_.pauses;
    }
    const int pauses = yields ? budget_.pauses : longer * budget_.pauses;
    if (polls_ < pauses) {
      polls_ = cheap ? polls_ + 1 : std::min(polls_ + pauses_in_a_call, pauses);
      paused_ = true;
      _mm_pause();
      return true;
    }
    if (!yields || polls_ >= budget_.pauses + budget_.yields) return false;
    lost_core_ = !Core::yield();
    // Who has slept gets a core that others want sooner than who yields again and again.
    polls_ = lost_core_ ? budget_.pauses + budget_.yields : polls_ + 1;
    return true;
  }

 private:
  static constexpr int telling_yields = 3;
  static constexpr int short_pauses = 16;
  static constexpr int waits_between_trials = 64;

  WaitBudget budget_;
  int polls_ = 0;
  bool paused_ = false, lost_core_ = false;  // in this wait
  int waits_without_pauses_ = 0, waits_without_yields_ = 0;
};

using Waiter = BasicWaiter<OwnCore>;

}  // namespace hocket
