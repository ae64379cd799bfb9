// WakeFlag: a word in shared memory on which one thread sleeps and any other, of any process, wakes it. The sleeper
// says for which members it waits: a wake-up costs a system call and a change of processes, and the others' would be in
// vain.
//
// The lowest bits say: awake (0), asleep on the word (1), asleep in poll(2) (3), or about to be. A waker sets them to
// awake, so a sleep costs at most one system call of all who would wake it; the bits above count, so that no sleep
// misses a change.
#pragma once

#include <atomic>
#include <cstdint>

#include "src/base/fence.hpp"
#include "src/spi/types.hpp"
#include "src/spi/window.hpp"

namespace hocket::shm {

class WakeFlag {
 public:
  // The sleeper's: prepare, look once more at what is waited for, then either sleep or cancel.
  std::uint32_t prepare(MemberSet awaited) { return prepare(asleep, awaited); }
  void sleep(std::uint32_t ticket, Deadline deadline);
  void cancel();
  // In place of prepare(): the sleep is a poll(2), and ends with cancel().
  void prepare_poll() { prepare(asleep | polls, all_members); }

  // Whether the sleeper may be asleep. Behind a full_fence(), as wake().
  bool sleeps() const { return (word_.load(std::memory_order_relaxed) & asleep) != 0; }
  // Anybody's, `waker`, after having written what the sleeper waits for, and a full_fence(): so the sleeper sees it, or
  // is woken if it waits for this one. True: the sleeper polls, so the caller must wake it as such a one is woken.
  bool wake(MemberSet waker) {
    std::uint32_t now = word_.load(std::memory_order_relaxed);
    if ((now & asleep) == 0 || (awaited_.load(std::memory_order_relaxed) & waker) == 0) return false;
    if (!word_.compare_exchange_strong(now, awake_after(now))) return false;
    if ((now & polls) != 0) return true;
    ring();
    return false;
  }
  // Ends a sleep on the word, also where a waker died between changing the word and ringing. Not one in poll(2).
  void interrupt();

 private:
  static constexpr std::uint32_t asleep = 1, polls = 2, bits = asleep | polls;

  static std::uint32_t awake_after(std::uint32_t word) { return (word | bits) + 1; }
  std::uint32_t prepare(std::uint32_t how, MemberSet awaited);
  void ring();

  std::atomic<std::uint32_t> word_{0};
  std::atomic<MemberSet> awaited_{0};  // by the sleeper; written before the word says that it sleeps
};

}  // namespace hocket::shm
