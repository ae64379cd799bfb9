// How calls end, for hocket.hpp: what they throw, the handle on one that was started, and groups that start together.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "hocket/hocket.h"

namespace hocket {
inline namespace api {

// What every member throws where the C API returns a failure.
class Error : public std::runtime_error {
 public:
  explicit Error(const hocket_cause& cause) : std::runtime_error(cause.message), cause_(cause) {}
  Error(hocket_result result, const std::string& message) : std::runtime_error(message) {
    cause_.code = result;
    message.copy(cause_.message, sizeof(cause_.message) - 1);
  }

  hocket_result result() const noexcept { return cause_.code; }
  const hocket_cause& cause() const noexcept { return cause_; }

 private:
  hocket_cause cause_ = HOCKET_CAUSE_INIT;
};

// Throws the calling thread's latest failure unless `result` is HOCKET_OK.
inline void check(hocket_result result) {
  if (result == HOCKET_OK) return;
  hocket_cause cause = HOCKET_CAUSE_INIT;
  if (hocket_last_cause(&cause) != HOCKET_OK || cause.code != result) throw Error(result, hocket_result_name(result));
  throw Error(cause);
}

// One asynchronous operation, or, of a call with the option `persistent`, one that start() and run() start as often as
// is wanted. The destructor waits for it (at most until its deadline), so that a scope that is left early does not free
// buffers in use; release() gives the handle back without waiting. Any thread may use it.
class Work {
 public:
  Work() = default;
  Work(Work&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Work& operator=(Work&& other) noexcept {
    if (this != &other) {
      finish();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Work() { finish(); }
  // What call(hocket_work**) starts.
  template <class Call>
  static Work started(const Call& call) {
    Work work;
    call(&work.handle_);
    return work;
  }

  // True when complete. Throws the operation's error. Never blocks.
  bool test() { return complete(hocket_work_test(handle_)); }
  // Waits until the operation is complete. Throws its error.
  void wait() {
    while (!complete(hocket_work_wait(handle_, 0))) {
    }
  }
  // True when complete, false when `span` passed before.
  bool wait_for(std::chrono::milliseconds span) {
    return span.count() <= 0 ? test() : complete(hocket_work_wait(handle_, span.count()));
  }
  // Of persistent works: another run, and one that is waited for.
  void start() { check(hocket_work_start(handle_)); }
  void run() { check(hocket_work_run(handle_)); }
  // Calls `function` with the result when the operation is complete; what it may do says hocket_work_on_complete().
  void on_complete(std::function<void(hocket_result)> function) {
    using Function = std::function<void(hocket_result)>;
    auto kept = std::make_unique<Function>(std::move(function));
    const auto call = [](hocket_result result, void* context) {
      const std::unique_ptr<Function> called(static_cast<Function*>(context));
      (*called)(result);
    };
    check(hocket_work_on_complete(handle_, call, kept.get()));
    (void)kept.release();
  }
  // The operation goes on, and still uses its buffers.
  void release() noexcept {
    if (handle_ != nullptr) hocket_work_release(std::exchange(handle_, nullptr));
  }
  hocket_work* handle() const noexcept { return handle_; }

 private:
  friend class Group;

  static bool complete(hocket_result result) {
    if (result == HOCKET_IN_PROGRESS) return false;
    check(result);
    return true;
  }
  void finish() noexcept {
    if (handle_ == nullptr) return;
    while (hocket_work_wait(handle_, 0) == HOCKET_IN_PROGRESS) {
    }
    release();
  }

  hocket_work* handle_ = nullptr;
};

// Calls of this thread that start together, see hocket_group_start(). Members of Communicator that are not …_async are
// kept until end(). Left without an end, as by an exception, nothing of it starts.
//
//   hocket::Group group;
//   comm.send(mine, right);
//   comm.recv(theirs, left);
//   group.end();
class Group {
 public:
  Group() { check(hocket_group_start()); }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group() {
    if (open_) hocket_group_cancel();
  }

  // Starts the calls and waits for all of them. Of an inner group: leaves both to the outermost.
  void end() {
    open_ = false;
    check(hocket_group_end(nullptr));
  }
  // Starts them; of an inner group, leaves that to the outermost, and the work is none.
  Work end_async() {
    open_ = false;
    Work work;
    check(hocket_group_end(&work.handle_));
    return work;
  }

 private:
  bool open_ = true;
};

}  // namespace api
}  // namespace hocket
