#include "transports/shm/wake_flag.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

namespace hocket::shm {
namespace {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<MemberSet>::is_always_lock_free);

// Not private: the word lies in memory that processes share. The time is that of CLOCK_MONOTONIC, as Deadline's.
long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* until) {
  return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, until, nullptr,
                   FUTEX_BITSET_MATCH_ANY);
}

}  // namespace

std::uint32_t WakeFlag::prepare(std::uint32_t how, MemberSet awaited) {
  awaited_.store(awaited, std::memory_order_relaxed);
  const std::uint32_t ticket = word_.fetch_add(how, std::memory_order_seq_cst) + how;  // was awake
  full_fence();
  return ticket;
}

void WakeFlag::sleep(std::uint32_t ticket, Deadline deadline) {
  const auto at = deadline.at().time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at);
  timespec until{};
  until.tv_sec = static_cast<std::time_t>(seconds.count());
  until.tv_nsec = static_cast<long>(std::chrono::duration_cast<std::chrono::nanoseconds>(at - seconds).count());
  while (word_.load(std::memory_order_acquire) == ticket && !deadline.passed()) {
    futex(word_, FUTEX_WAIT_BITSET, ticket, &until);
  }
  cancel();
}

void WakeFlag::cancel() {
  std::uint32_t now = word_.load(std::memory_order_relaxed);
  while ((now & asleep) != 0 && !word_.compare_exchange_weak(now, awake_after(now))) {
  }
}

void WakeFlag::interrupt() {
  std::uint32_t now = word_.load(std::memory_order_relaxed);
  do {
    if ((now & polls) != 0) return;  // the sleep that was meant is over, and nobody but wake() ends this one
  } while (!word_.compare_exchange_weak(now, awake_after(now)));
  ring();
}

void WakeFlag::ring() {
  futex(word_, FUTEX_WAKE, 1, nullptr);
}

}  // namespace hocket::shm
