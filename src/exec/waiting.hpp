// How long a waiter spins before it sleeps. Spinning takes a core away from whoever is waited for when ranks outnumber
// cores, so the budget follows their ratio.
#pragma once

#include <immintrin.h>
#include <sched.h>

namespace hocket {

struct WaitBudget {
  int pauses = 0;  // polls with a pause between them
  int yields = 0;  // then polls with a yield between them; then sleep

  static WaitBudget for_ranks(int ranks_on_host, int cores) {
    if (ranks_on_host <= cores) return {.pauses = 200, .yields = 200};
    return {.pauses = 0, .yields = 4};
  }
};

// One wait: call once for each poll that found nothing. False when it is time to sleep.
class Waiter {
 public:
  explicit Waiter(const WaitBudget& budget) : budget_(budget) {}

  void reset() { polls_ = 0; }
  bool spin() {
    if (polls_ < budget_.pauses) {
      ++polls_;
      _mm_pause();
      return true;
    }
    if (polls_ < budget_.pauses + budget_.yields) {
      ++polls_;
      ::sched_yield();
      return true;
    }
    return false;
  }

 private:
  const WaitBudget budget_;
  int polls_ = 0;
};

}  // namespace hocket
