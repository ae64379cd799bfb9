// A gate in a stream of a device's double.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>

#include "tests/support/host_gpu.hpp"

namespace hocket::process_testing {

// A word that streams wait for, and nobody writes until the test does.
class Gate {
 public:
  explicit Gate(testing_support::HostGpu& gpu) : gpu_(gpu) { EXPECT_TRUE(gpu.use_words(memory_, sizeof memory_).ok()); }
  ~Gate() {
    open();
    EXPECT_TRUE(gpu_.forget_words(memory_).ok());
  }
  void close_behind(GpuStream stream) { EXPECT_TRUE(gpu_.wait_until(stream, word(), 1).ok()); }
  void open() { word() = 1; }

 private:
  GpuWord& word() { return *reinterpret_cast<GpuWord*>(memory_); }

  testing_support::HostGpu& gpu_;
  alignas(4096) std::byte memory_[4096] = {};
};

}  // namespace hocket::process_testing
