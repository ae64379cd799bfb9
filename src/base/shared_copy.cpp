#include "src/base/shared_copy.hpp"

#include <algorithm>
#include <chrono>

#include "src/base/copy_bytes.hpp"
#include "src/base/copy_streaming.hpp"
#include "src/base/fence.hpp"

namespace hocket {
namespace {

constexpr int interval_max = 128;
// With each kind of stores. Waiting for the last streaming store and reading the clock take a third of the time that 8
// KiB take.
constexpr std::size_t measured_bytes_max = std::size_t{16} << 10;
constexpr std::size_t telling_bytes_min = std::size_t{8} << 10;

// Until others can see what `move` has stored.
template <class Move>
float seconds_of(const Move& move) {
  const auto began = std::chrono::steady_clock::now();
  move();
  full_fence();
  return std::chrono::duration<float>(std::chrono::steady_clock::now() - began).count();
}

// Moves the first `bytes` with streaming stores and the next with ordinary ones.
SharedCopy::Measured measure(std::byte* to, const std::byte* from, std::size_t bytes) {
  full_fence();
  const float streaming = seconds_of([&] { copy_streaming(to, from, bytes); });
  const float ordinary = seconds_of([&] { copy_bytes(to + bytes, from + bytes, bytes); });
  return {.gain = ordinary / streaming,
          .ordinary = bytes < telling_bytes_min ? 0 : ordinary / static_cast<float>(bytes)};
}

}  // namespace

// The middle one of three counts, as a process that loses its core meanwhile may find anything.
void SharedCopy::learn(Measured measured) {
  constexpr float clear_change = 2, gain_of_none = 0.6F, gain_of_all = 8;  // beyond these no other stores are chosen
  const auto [less, more] = std::minmax(std::clamp(measured.gain, gain_of_none, gain_of_all),
                                        std::clamp(latest_.gain, gain_of_none, gain_of_all));
  const bool as_before = more < clear_change * less;
  interval_ = static_cast<std::uint8_t>(as_before ? std::min(2 * interval_, interval_max) : 1);
  measured_[next_] = {.gain = measured.gain, .ordinary = measured.ordinary > 0 ? measured.ordinary : latest_.ordinary};
  next_ = (next_ + 1) % measured_.size();
  const auto by_gain = [](const Measured& one, const Measured& other) { return one.gain < other.gain; };
  const auto& [first, second, third] = measured_;
  latest_ =
      std::max(std::min(first, second, by_gain), std::min(std::max(first, second, by_gain), third, by_gain), by_gain);
}

void SharedCopy::copy_long(std::byte* to, const std::byte* from, std::size_t bytes, Traffic traffic) {
  const bool streaming = streams(bytes, traffic);
  if (copies_left_ == 0) {
    const std::size_t each = std::min(bytes / 2, measured_bytes_max) & ~std::size_t{63};
    learn(measure(to, from, each));
    copies_left_ = interval_;
    to += 2 * each, from += 2 * each, bytes -= 2 * each;
  }
  --copies_left_;
  streaming ? copy_streaming(to, from, bytes) : copy_bytes(to, from, bytes);
}

}  // namespace hocket
