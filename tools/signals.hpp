// The signals that matter to a program that waits for others, blocked and read from a descriptor for as long as this
// object lives; then the mask is restored.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "src/base/fd.hpp"

namespace hocket::launch {

class Signals {
 public:
  Signals() {
    sigset_t handled;
    sigemptyset(&handled);
    for (const int number : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) sigaddset(&handled, number);
    sigprocmask(SIG_BLOCK, &handled, &before_);
    fd_ = UniqueFd(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~Signals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
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
  sigset_t before_;
  UniqueFd fd_;
};

}  // namespace hocket::launch
