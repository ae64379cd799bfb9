// SignalsBlocked: keeps signals away from the threads that the library starts. They belong to the program: one that
// blocks SIGTERM and waits for it with sigwait() must get it, whenever it made its communicators.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <initializer_list>

namespace hocket {

// While it lives, this thread takes no signals, and a thread that it starts never will. Signals that a thread's own
// fault raises stay as they are, so that the program's handlers for them run on every thread.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&blocked, fault);
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace hocket
