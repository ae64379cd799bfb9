#include "src/base/shared_copy.hpp"

#include <algorithm>
#include <chrono>

#include "src/base/copy_bytes.hpp"
#include "src/base/copy_streaming.hpp"
#include "src/base/fence.hpp"

namespace hocket {
namespace {

constexpr std::uint8_t interval_max = 64;
constexpr std::size_t measured_bytes_max = 8192;

// Until others can see what `move` has stored.
template <class Move>
float seconds_of(const Move& move) {
  const auto began = std::chrono::steady_clock::now();
  move();
  full_fence();
  return std::chrono::duration<float>(std::chrono::steady_clock::now() - began).count();
}

// How much faster streaming stores move the first `bytes` than ordinary ones the next.
float measured_gain(std::byte* to, const std::byte* from, std::size_t bytes) {
  full_fence();
  const float streaming = seconds_of([&] { copy_streaming(to, from, bytes); });
  return seconds_of([&] { copy_bytes(to + bytes, from + bytes, bytes); }) / streaming;
}

}  // namespace

// The middle one of three counts, as a process that loses its core meanwhile may find anything.
void SharedCopy::learn(float gain) {
  constexpr float clear_gain = 2;
  const bool as_before = (gain >= clear_gain) == (gain_ >= clear_gain);
  interval_ = as_before ? std::min<std::uint8_t>(2 * interval_, interval_max) : 1;
  gains_[next_] = gain;
  next_ = (next_ + 1) % gains_.size();
  gain_ = std::max(std::min(gains_[0], gains_[1]), std::min(std::max(gains_[0], gains_[1]), gains_[2]));
}

void SharedCopy::copy_long(std::byte* to, const std::byte* from, std::size_t bytes, Traffic traffic) {
  const bool streaming = streams(bytes, traffic);
  if (copies_left_ == 0) {
    const std::size_t each = std::min(bytes / 2, measured_bytes_max) & ~std::size_t{63};
    learn(measured_gain(to, from, each));
    copies_left_ = interval_;
    to += 2 * each, from += 2 * each, bytes -= 2 * each;
  }
  --copies_left_;
  streaming ? copy_streaming(to, from, bytes) : copy_bytes(to, from, bytes);
}

}  // namespace hocket
