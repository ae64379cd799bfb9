// A member of a window in a test: one direct operation, which it runs again and again.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "src/exec/direct/direct_operation.hpp"
#include "tests/unit/exec/memory_window.hpp"
#include "tests/unit/exec/no_peers.hpp"

namespace hocket::testing {

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

}  // namespace hocket::testing
