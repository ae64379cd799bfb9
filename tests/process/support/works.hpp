// Works: handles that are given back, persistent calls, and functions that are called on completion.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "hocket/hocket.h"
#include "tests/process/support/failure.hpp"

namespace hocket::process_testing {

inline hocket_call_options persistent() {
  hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
  options.persistent = 1;
  return options;
}

// A handle that is given back.
class Handle {
 public:
  Handle() = default;
  ~Handle() { EXPECT_EQ(hocket_work_release(work_), HOCKET_OK); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  hocket_work** out() { return &work_; }
  hocket_work* get() const { return work_; }
  void start_and_wait() {
    expect_result(hocket_work_start(work_), HOCKET_OK);
    expect_result(hocket_work_wait(work_, 0), HOCKET_OK);
    expect_result(hocket_work_test(work_), HOCKET_OK);
  }

 private:
  hocket_work* work_ = nullptr;
};

// These must succeed; a null work is a fatal failure.
inline void wait_and_release(hocket_work* work) {
  ASSERT_NE(work, nullptr);
  expect_result(hocket_work_wait(work, 0), HOCKET_OK);
  expect_result(hocket_work_test(work), HOCKET_OK);
  expect_result(hocket_work_release(work), HOCKET_OK);
}

// Counts its calls and keeps the last result.
struct Told {
  std::atomic<int> times{0};
  std::atomic<int> result{-1};

  static void tell(hocket_result result, void* context) {
    auto& told = *static_cast<Told*>(context);
    told.result = result;
    ++told.times;
  }
  void wait_for(int wanted) const {
    while (times < wanted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

}  // namespace hocket::process_testing
