// A trap in memory: whoever touches it in this process sends the process a signal. So a rank dies or stops in the midst
// of what reads or writes a buffer, always at the same byte. What SIGSTOP has stopped goes on afterwards.
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>

namespace hocket::process_testing {

inline constexpr std::size_t page_bytes = 4096;

// One in a process; springs once.
class Trap {
 public:
  // From the first whole page at or after `begin` to the last before `end`, so that these are not touched by others.
  static void set(std::byte* begin, std::byte* end, int signal) {
    const auto first = (reinterpret_cast<std::uintptr_t>(begin) + page_bytes - 1) / page_bytes * page_bytes;
    set_ = {reinterpret_cast<std::byte*>(first),
            (reinterpret_cast<std::uintptr_t>(end) - first) / page_bytes * page_bytes, signal};
    struct sigaction action {};
    action.sa_handler = &spring;
    action.sa_flags = SA_RESETHAND;
    ::sigaction(SIGSEGV, &action, nullptr);
    ::mprotect(set_.at, set_.bytes, PROT_NONE);
  }

  static bool sprung() { return sprung_ != 0; }

 private:
  struct Set {
    std::byte* at;
    std::size_t bytes;
    int signal;
  };
  static void spring(int) {
    ::mprotect(set_.at, set_.bytes, PROT_READ | PROT_WRITE);
    sprung_ = 1;
    ::kill(::getpid(), set_.signal);
  }
  static inline Set set_{};
  static inline volatile std::sig_atomic_t sprung_ = 0;
};

}  // namespace hocket::process_testing
