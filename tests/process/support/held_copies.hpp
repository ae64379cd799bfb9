// Data of a GPU that goes over the host in pieces, in tests that hold copies back: of the double of a GPU.
#pragma once

#include <atomic>
#include <functional>
#include <utility>

#include "src/exec/gpu/host_mirror.hpp"
#include "tests/process/support/device_rank.hpp"

namespace hocket::process_testing {

inline constexpr std::size_t piece_elements = HostMirror::piece_bytes / sizeof(float);
inline constexpr std::size_t four_pieces = 4 * piece_elements - 3;  // floats

// Adds floats, and calls something first.
inline void add_and_say(void* to, const void* left, const void* right, size_t elements, hocket_dtype, void* context) {
  (*static_cast<std::function<void()>*>(context))();
  for (size_t i = 0; i < elements; ++i) {
    static_cast<float*>(to)[i] = static_cast<const float*>(left)[i] + static_cast<const float*>(right)[i];
  }
}

// Calls something before the copy of this number, counted from when it is armed.
class BeforeCopy {
 public:
  BeforeCopy(int number, std::function<void()> act) : number_(number), act_(std::move(act)) {}
  void arm() { copies_ = 0; }
  void operator()() {
    if (copies_ >= 0 && copies_++ == number_) act_();
  }

 private:
  const int number_;
  const std::function<void()> act_;
  std::atomic<int> copies_{-1};  // negative: not armed
};

inline hocket_call_options patient(hocket_call_options options) {
  options.timeout_ms = 60'000;
  return options;
}

}  // namespace hocket::process_testing
