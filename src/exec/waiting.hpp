// How long a waiter spins before it sleeps. Spinning takes a core away from the rank that is waited for when ranks
// outnumber cores, so the budget follows their ratio.
#pragma once

#include <immintrin.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
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
  int pauses = 0;                // polls with a pause between them
  std::int16_t yields = 0;       // then polls with a yield between them; then sleep
  bool shares_cores = false;     // ranks outnumber them: it pauses only for a rank that may run meanwhile
  std::uint8_t lone_yields = 0;  // so many more, in a short wait of a rank that is alone on its core

  static WaitBudget for_ranks(int ranks_on_host, int cores) {
    // Measured on two cores: 2 ranks over a window take 0.6 µs with pauses and 3 µs without; 4 ranks are fastest with 1
    // to 10 yields; with 20 that all count, a waiter now and then keeps its core for a slice of the scheduler (4 ms).
    if (ranks_on_host <= cores) return {.pauses = 200, .yields = 100};
    const auto lone_yields = static_cast<std::uint8_t>(cores > 1 && ranks_on_host <= 2 * cores ? 24 : 0);
    return {.pauses = 200, .yields = 5, .shares_cores = true, .lone_yields = lone_yields};
  }
  // Until it is known which cores they have together: as if they shared this process's own. But nobody is told which
  // core a rank is on, since that would still stand in the rings if each turns out to have one of its own.
  static WaitBudget until_placed(int ranks, int own_cores) {
    const WaitBudget budget = for_ranks(ranks, own_cores);
    return budget.shares_cores ? WaitBudget{.yields = budget.yields} : budget;
  }
  friend bool operator==(const WaitBudget&, const WaitBudget&) = default;
};
static_assert(sizeof(WaitBudget) == 8, "it is set and read at once");

// Where what is waited for will be seen.
enum class Awaits : std::uint8_t {
  links,
  window,
  window_for_small_data,  // which takes nobody long
};

// Who took the core that was left to others for a moment.
enum class Yielded : std::uint8_t {
  to_nobody,
  for_a_moment,  // somebody, for as long as ranks do that wait themselves
  for_long,
};

struct OwnCore {
  static Yielded yield() {
    constexpr std::chrono::nanoseconds shortest{700};  // two changes of processes took 2 µs and more where measured
    constexpr std::chrono::milliseconds longest{1};
    const auto before = std::chrono::steady_clock::now();
    ::sched_yield();
    const auto took = std::chrono::steady_clock::now() - before;
    if (took > longest) return Yielded::for_long;
    return took < shortest ? Yielded::to_nobody : Yielded::for_a_moment;
  }
};

// The waits of a thread that progresses, one after another. Where ranks could each have a core, theirs may be busy.
// The scheduler may run two of them on one, so that all pauses are in vain: a wait that ended with its first yields
// makes the next ones begin with these. Or a program that never waits is on it, to which each yield leaves the core for
// a slice of the scheduler (4 ms), a thousand times what a small call takes: the next waits that would yield pause for
// longer instead, as long as a rank takes to wake up that slept meanwhile.
//
// Where ranks share cores, the one that is waited for runs meanwhile if it has another core now, which nobody can see;
// that it had another one last can be told. Then a wait pauses first, for longer the more waits before have been spared
// their yields by that; the next ones do not where it was in vain.
//
// A rank may be alone on its core though ranks outnumber them, as one of four where the others are three on the second
// of two cores: nobody takes what it yields. Then it goes on for longer before it sleeps, if the wait is a short one;
// otherwise others would have to wake it in each small call (decision 80).
template <class Core>
class BasicWaiter {
 public:
  static constexpr int pauses_in_a_call = 25;
  static constexpr int longer = 20;  // times as many pauses, in place of yields
  // On shared cores. A wait that a pause ends is spared two changes of processes, the time of so many pauses.
  static constexpr int spared_pauses = 100, longest_patience = 4000;
  static constexpr int least_between_trials = 8, most_between_trials = 512;  // twice as many after each in vain

  void set(const WaitBudget& budget) {
    if (budget != budget_) *this = BasicWaiter();  // what was learnt holds no more
    budget_ = budget;
    if (polls_ == 0) pauses_ = budget.shares_cores ? 0 : budget.pauses + patience_;
  }
  // Whether a wait begins, and what it is for is to be told.
  bool asks() const { return budget_.shares_cores && polls_ == 0; }
  // `another_core`: over links, for a short message whose sender may run while this rank does.
  void tell(Awaits what, bool another_core) {
    pauses_ = another_core ? budget_.pauses + patience_ : 0;
    lone_yields_ = another_core || what == Awaits::window_for_small_data ? budget_.lone_yields : 0;
  }

  // What was waited for has happened, at least in part.
  void reset() {
    const int yields = polls_ - pauses_;
    if (budget_.shares_cores) {
      if (paused_) judge_pauses(yields > 0);
    } else if (yields > 0 && waits_without_yields_ > 0) {
      const bool in_vain = polls_ >= longer * pauses_;  // as where the rank that is waited for wants this core
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
  bool waits_long() const { return polls_ >= std::min(pauses_, short_pauses); }
  // Call once for each poll that found nothing. False when it is time to sleep. `cheap`: a poll is a look at memory,
  // not a system call, which takes as long as many pauses.
  bool spin(bool cheap) {
    const bool yields = waits_without_yields_ == 0;
    if (polls_ == 0 && pauses_ > 0 && yields && waits_without_pauses_ > 0) {
      --waits_without_pauses_;
      polls_ = pauses_;
    }
    const int pauses = yields ? pauses_ : longer * pauses_;
    if (polls_ < pauses) {
      polls_ = cheap ? polls_ + 1 : std::min(polls_ + pauses_in_a_call, pauses);
      paused_ = true;
      _mm_pause();
      return true;
    }
    if (!yields || polls_ >= pauses_ + budget_.yields) return false;
    const Yielded yielded = Core::yield();
    if (yielded == Yielded::to_nobody && lone_yields_ > 0 && polls_ > pauses_) {
      --lone_yields_;
      return true;
    }
    lost_core_ = yielded == Yielded::for_long;
    // Who has slept gets a core that others want sooner than who yields again and again.
    polls_ = lost_core_ ? pauses_ + budget_.yields : polls_ + 1;
    return true;
  }

 private:
  void judge_pauses(bool in_vain) {
    patience_ = in_vain ? 0 : std::min(patience_ + spared_pauses, longest_patience);
    waits_without_pauses_ = in_vain ? between_trials_ : 0;
    between_trials_ = in_vain ? std::min(2 * between_trials_, most_between_trials) : least_between_trials;
  }

  static constexpr int telling_yields = 3;
  static constexpr int short_pauses = 16;
  static constexpr int waits_between_trials = 64;

  WaitBudget budget_;
  int pauses_ = 0;       // of this wait
  int lone_yields_ = 0;  // left to it
  int patience_ = 0;     // on a shared core: so many more
  int between_trials_ = least_between_trials;
  int polls_ = 0;
  bool paused_ = false, lost_core_ = false;  // in this wait
  int waits_without_pauses_ = 0, waits_without_yields_ = 0;
};

using Waiter = BasicWaiter<OwnCore>;

}  // namespace hocket
