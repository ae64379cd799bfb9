#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <thread>

#include "tests/process/support/call.hpp"

namespace hocket::process_testing {

// Calls in flight. Work is released whatever happens.
class Flight {
 public:
  Flight(hocket_comm* comm, Rank rank, Rank size) : comm_(comm), rank_(rank), size_(size) {}
  ~Flight() {
    for (Entry& entry : entries_) EXPECT_EQ(hocket_work_release(entry.work), HOCKET_OK);
  }
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

  void start(const Case& what) {
    Entry& entry = entries_.emplace_back(Call(what, rank_, size_), what);
    ASSERT_EQ(entry.call.issue(comm_, &entry.work), HOCKET_OK) << describe(what) << ": " << hocket_last_error();
    ASSERT_NE(entry.work, nullptr);
  }
  void wait(std::size_t index) {
    Entry& entry = entries_[index];
    ASSERT_EQ(hocket_work_wait(entry.work, 0), HOCKET_OK) << describe(entry.what) << ": " << hocket_last_error();
    EXPECT_EQ(hocket_work_test(entry.work), HOCKET_OK) << "a complete operation stays complete";
    entry.call.expect_correct();
  }
  // Without ever progressing it: the library's own thread must.
  void poll(std::size_t index) {
    Entry& entry = entries_[index];
    hocket_result result;
    while ((result = hocket_work_test(entry.work)) == HOCKET_IN_PROGRESS) std::this_thread::yield();
    ASSERT_EQ(result, HOCKET_OK) << describe(entry.what) << ": " << hocket_last_error();
    entry.call.expect_correct();
  }
  std::size_t size() const { return entries_.size(); }
  hocket_work* last() const { return entries_.back().work; }

 private:
  struct Entry {
    Entry(Call made, const Case& of) : call(std::move(made)), what(of) {}
    Call call;
    Case what;
    hocket_work* work = nullptr;
  };

  hocket_comm* comm_;
  Rank rank_, size_;
  std::deque<Entry> entries_;
};

}  // namespace hocket::process_testing
