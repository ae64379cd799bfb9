// A member of a window in a test: one direct operation, which it runs again and again.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "src/exec/direct/direct_operation.hpp"
#include "tests/unit/exec/memory_window.hpp"
#include "tests/unit/exec/no_peers.hpp"

namespace hocket::testing_support {

// It never waits for others but through its operation.
class DirectMember {
 public:
  // `turn`: that of the latest operation of an earlier life of this window.
  DirectMember(SharedMemory& shared, std::uint32_t self, const DirectSetting& setting = {}, std::uint64_t turn = 0)
      : self_(self),
        window_(shared, self),
        use_{.window = &window_,
             .setting = setting,
             .turn = turn,
             .heard = std::vector<std::uint64_t>(window_.size(), turn),
             .everyone_heard = turn} {}

  // Whether anything happened.
  bool step() {
    Counters counters;
    return operation_.advance(counters);
  }
  // The same of one that falls asleep, as ProgressEngine::sleep_on_window() does, where nothing happens, and until
  // another member wakes it does nothing. `meanwhile` is called wherever others may do something.
  template <class Meanwhile>
  bool step_or_sleep(const Meanwhile& meanwhile) {
    if (window_.sleeps()) return false;
    if (step() || complete()) return true;
    operation_.before_sleep();
    const MemberSet awaited = operation_.awaited_members();
    meanwhile();
    window_.prepare_sleep(awaited);
    meanwhile();
    const bool happened = step() || complete();
    meanwhile();
    if (!happened && operation_.awaited_members() == awaited) return false;
    window_.cancel_sleep();
    return true;
  }
  bool running() const { return running_; }
  bool complete() const { return operation_.complete(); }

 protected:
  void start(const Binding& binding) {
    operation_.bind(binding);
    NoPeers nobody;
    ASSERT_TRUE(operation_.start(operation_.tag(), nobody).ok());
    running_ = true;
  }
  void finish() {
    operation_.finish(operation_.failure());
    running_ = false;
  }

  const std::uint32_t self_;
  MemoryWindow window_;
  WindowUse use_;
  DirectOperation operation_{use_};

 private:
  bool running_ = false;
};

}  // namespace hocket::testing_support
