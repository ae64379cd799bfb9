// Pacer: where the ranks of one host meet before an operation on fresh inputs, in a file that they share, whichever
// library they measure. The barriers of libraries differ in which rank leaves first, and where ranks share cores that
// decides how long an operation takes that has a root. So all leave this one, after that of the library. It uses no
// library, so that the peers' harnesses have it too.
#pragma once

#include <fcntl.h>
#include <immintrin.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>
#include <stdexcept>
#include <string>

namespace pacing {

// With a sentence for the user.
class PacerError : public std::runtime_error {
 public:
  using runtime_error::runtime_error;
};

class Pacer {
 public:
  // `file` holds 4096 zeros, and is made anew for each run. Throws PacerError where it cannot be used.
  Pacer(const std::string& file, int ranks)
      : ranks_(static_cast<std::uint32_t>(ranks)), has_core_(ranks <= ::sysconf(_SC_NPROCESSORS_ONLN)) {
    const int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
    struct stat found {};
    const bool fits =
        descriptor >= 0 && ::fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode) && found.st_size == file_bytes;
    void* const memory =
        fits ? ::mmap(nullptr, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;
    if (descriptor >= 0) ::close(descriptor);
    if (memory == MAP_FAILED) {
      throw PacerError("ranks cannot meet in " + file + ": it must be a file of 4096 zeros that they may write to.");
    }
    shared_ = static_cast<Shared*>(memory);
  }
  ~Pacer() { ::munmap(shared_, file_bytes); }
  Pacer(const Pacer&) = delete;
  Pacer& operator=(const Pacer&) = delete;

  // Returns when all ranks have called it. Throws PacerError if one does not within a minute.
  void meet() {
    const std::uint32_t turn = shared_->turn.load(std::memory_order_acquire);
    if (shared_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 != ranks_) return wait_for_end_of(turn);
    shared_->arrived.store(0, std::memory_order_relaxed);
    shared_->turn.store(turn + 1, std::memory_order_seq_cst);
    if (shared_->asleep.load(std::memory_order_seq_cst) > 0) futex(FUTEX_WAKE, INT_MAX, nullptr);
  }

 private:
  struct Shared {
    std::atomic<std::uint32_t> arrived;
    alignas(64) std::atomic<std::uint32_t> turn;
    alignas(64) std::atomic<std::uint32_t> asleep;
  };
  static constexpr off_t file_bytes = 4096;
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free && sizeof(Shared) <= file_bytes);

  void wait_for_end_of(std::uint32_t turn) {
    constexpr int pauses = 10'000, yields = 50;
    for (int i = has_core_ ? 0 : pauses - yields; i < pauses; ++i) {
      if (shared_->turn.load(std::memory_order_acquire) != turn) return;
      has_core_ ? _mm_pause() : static_cast<void>(::sched_yield());
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    shared_->asleep.fetch_add(1, std::memory_order_seq_cst);
    while (shared_->turn.load(std::memory_order_seq_cst) == turn) {
      const timespec second{.tv_sec = 1, .tv_nsec = 0};
      futex(FUTEX_WAIT, static_cast<int>(turn), &second);
      if (std::chrono::steady_clock::now() > end) throw PacerError("a rank has not come for a minute.");
    }
    shared_->asleep.fetch_sub(1, std::memory_order_seq_cst);
  }

  void futex(int what, int value, const timespec* timeout) {
    ::syscall(SYS_futex, &shared_->turn, what, value, timeout, nullptr, 0);
  }

  std::uint32_t ranks_;
  bool has_core_;
  Shared* shared_ = nullptr;
};

}  // namespace pacing
