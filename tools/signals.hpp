// The signals that matter to a program that waits for others, blocked and read from a descriptor for as long as this
// object lives; then all is as it was before.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>

#include "src/base/fd.hpp"

namespace hocket::launch {

// Thread rule: the thread that makes it asks it. The kernel may hand a signal to any thread that does not block it,
// such as one that a driver has started; from there it is passed on. One object at a time.
class Signals {
 public:
  Signals() {
    owner_process = ::getpid();
    owner_thread = ::gettid();
    struct sigaction passing {};
    passing.sa_handler = pass_on;
    passing.sa_flags = SA_RESTART;
    sigset_t handled;
    sigemptyset(&handled);
    for (const int number : numbers) sigaddset(&handled, number);
    sigprocmask(SIG_BLOCK, &handled, &before_);  // first: this thread would pass on to itself for ever
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      sigaction(numbers[i], nullptr, &actions_before_[i]);
      // Programs that this one starts go on ignoring what it was told to.
      if (actions_before_[i].sa_handler == SIG_DFL) sigaction(numbers[i], &passing, nullptr);
    }
    fd_ = UniqueFd(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~Signals() {
    for (std::size_t i = 0; i < numbers.size(); ++i) sigaction(numbers[i], &actions_before_[i], nullptr);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // False where there are no descriptors left.
  explicit operator bool() const { return static_cast<bool>(fd_); }
  int fd() const { return fd_.get(); }
  const sigset_t& before() const { return before_; }
  // The next signal that arrived; 0: none.
  int next() const {
    signalfd_siginfo info{};
    return read(fd_.get(), &info, sizeof(info)) == sizeof(info) ? static_cast<int>(info.ssi_signo) : 0;
  }

 private:
  static constexpr std::array numbers{SIGCHLD, SIGINT, SIGTERM, SIGHUP};

  // On a thread that blocks nothing; or in a child that has not begun its program yet, where the signal is its own.
  static void pass_on(int number) {
    const int error = errno;
    if (::getpid() == owner_process) {
      (void)::tgkill(owner_process, owner_thread, number);
    } else {
      (void)::signal(number, SIG_DFL);
      (void)::raise(number);
    }
    errno = error;
  }

  static inline std::atomic<pid_t> owner_process = 0, owner_thread = 0;  // a handler has nothing else to look at
  std::array<struct sigaction, numbers.size()> actions_before_{};
  sigset_t before_;
  UniqueFd fd_;
};

}  // namespace hocket::launch
