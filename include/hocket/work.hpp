/// @file
/// A handle on an asynchronous or persistent call, in C++.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "hocket/errors.hpp"
#include "hocket/work.h"

namespace hocket {
inline namespace api {

/// One asynchronous operation or, if the call had the option `persistent`, one that start() and run() start as often as
/// wanted. The destructor waits for it, at most until its deadline, so that a scope that is left early does not free
/// buffers in use; release() does not wait. Any thread may use it.
class Work {
 public:
  /// No operation.
  Work() = default;
  /// Takes the operation of `other`, which then has none.
  Work(Work&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  /// Finishes its own operation as the destructor does, then takes that of `other`.
  Work& operator=(Work&& other) noexcept {
    if (this != &other) {
      finish();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Work() { finish(); }
  /// The operation that call(hocket_work**) starts.
  template <class Call>
  static Work started(const Call& call) {
    Work work;
    call(&work.handle_);
    return work;
  }

  /// True when the operation is complete. Throws its error. Never blocks.
  bool test() { return complete(hocket_work_test(handle_)); }
  /// Waits until the operation is complete. Throws its error.
  void wait() {
    while (!complete(hocket_work_wait(handle_, 0))) {
    }
  }
  /// True when the operation is complete, false if `span` passed first. Throws the operation's error.
  bool wait_for(std::chrono::milliseconds span) {
    return span.count() <= 0 ? test() : complete(hocket_work_wait(handle_, span.count()));
  }
  /// Starts another run of a persistent work, see hocket_work_start().
  void start() { check(hocket_work_start(handle_)); }
  /// Starts another run of a persistent work and waits for it, see hocket_work_run().
  void run() { check(hocket_work_run(handle_)); }
  /// Calls `function` with the result when the operation is complete; see hocket_work_on_complete() for what it may do.
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
  /// Releases the handle without waiting. The operation continues, and still uses its buffers.
  void release() noexcept {
    if (handle_ != nullptr) hocket_work_release(std::exchange(handle_, nullptr));
  }
  /// The handle for the C API, which still belongs to this object; null if there is no operation.
  hocket_work* handle() const noexcept { return handle_; }

 private:
  friend class Group;

  static bool complete(hocket_result result) {
    if (result == HOCKET_IN_PROGRESS) return false;
    check(result);
    return true;
  }
  void finish() noexcept {
    if (handle_ != nullptr) hocket_work_finish(std::exchange(handle_, nullptr));
  }

  hocket_work* handle_ = nullptr;
};

/// Waits until one of the works is complete, and returns the lowest index of those that are; works.size() where none
/// has an operation, or where `span` has passed first (0: without end of its own). Throws the complete work's error.
/// Release that work, or start it again, before the next call. See hocket_work_wait_any().
inline std::size_t wait_any(std::span<Work> works, std::chrono::milliseconds span = std::chrono::milliseconds(0)) {
  std::vector<hocket_work*> handles;
  for (const Work& work : works) handles.push_back(work.handle());
  std::size_t index = 0;
  const hocket_result result = hocket_work_wait_any(handles.size(), handles.data(), span.count(), &index);
  if (result != HOCKET_IN_PROGRESS) check(result);
  return index;
}

}  // namespace api
}  // namespace hocket
