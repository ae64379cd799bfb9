#include "bindings/torch/src/completer.hpp"

#include <pybind11/pybind11.h>

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace hocket_torch {
namespace {

struct Completer {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;  // guarded by mutex, as is `idle`
  std::size_t idle = 0;
};

// Never destroyed: its threads live as long as the process.
Completer& completer() {
  static auto* const one = new Completer;
  return *one;
}

// Python ends a thread that asks for its lock from here on, wherever that stands: in a destructor, too, which ends the
// process.
bool python_ends() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsInitialized() == 0 || Py_IsFinalizing() != 0;
#else
  return Py_IsInitialized() == 0 || _Py_IsFinalizing() != 0;
#endif
}

// Runs and drops it; while Python ends it stays as it is, and what it holds.
void carry_out(std::function<void()> task) {
  if (!python_ends()) task();
  if (python_ends()) (void)new std::function<void()>(std::move(task));
}

void work_off() {
  Completer& own = completer();
  std::unique_lock lock(own.mutex);
  for (;;) {
    ++own.idle;
    own.changed.wait(lock, [&] { return !own.tasks.empty(); });
    --own.idle;
    auto task = std::move(own.tasks.front());
    own.tasks.pop_front();
    lock.unlock();
    carry_out(std::move(task));
    lock.lock();
  }
}

// Signals belong to the program's own threads.
void start_thread() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(work_off).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void complete_elsewhere(std::function<void()> task) {
  Completer& own = completer();
  bool all_busy = false;
  {
    const std::lock_guard lock(own.mutex);
    own.tasks.push_back(std::move(task));
    all_busy = own.tasks.size() > own.idle;
  }
  own.changed.notify_one();
  if (all_busy) start_thread();
}

}  // namespace hocket_torch
