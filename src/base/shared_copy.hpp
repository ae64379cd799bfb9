// Copies into memory that is read on other cores.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "src/base/copy_small.hpp"

namespace hocket {

// Copies with ordinary stores or with streaming ones, as its own copies found to be better. An ordinary store first has
// to get the line from the core that has read it; from one with caches of its own that takes up to 30 times as long as
// a streaming store, which goes to memory. Between cores of one cache streaming stores are up to twice as fast, and on
// one core ordinary stores are faster. Which core a reader runs on changes, so it is measured again and again. One
// thread at a time.
class SharedCopy {
 public:
  // Whether the reader reads while the writer writes, or both write and then read. What was streamed is read from
  // memory, so in the second case streaming has to be faster by more.
  enum class Traffic { one_way, both_ways };
  // Shorter ones are always ordinary stores.
  static constexpr std::size_t long_copy_min = 2048;

  // The places do not overlap. The bytes are there for whoever sees what the caller stores behind them with release.
  void copy(std::byte* to, const std::byte* from, std::size_t bytes, Traffic traffic) {
    if (bytes < long_copy_min) return copy_small(to, from, bytes);
    copy_long(to, from, bytes, traffic);
  }
  // Whether so many bytes get streaming stores.
  bool streams(std::size_t bytes, Traffic traffic) const { return streams(bytes, traffic, latest_.gain); }
  // And whether they would if streaming stores were so much faster.
  static bool streams(std::size_t bytes, Traffic traffic, float gain) {
    return bytes >= long_copy_min && gain >= gain_min(bytes, traffic);
  }
  float gain() const { return latest_.gain; }  // 0: not known yet
  // What such a copy takes by the latest measurements; 0: there are none yet.
  double seconds_per_byte(std::size_t bytes, Traffic traffic) const {
    return streams(bytes, traffic) ? latest_.ordinary / latest_.gain : latest_.ordinary;
  }

  // The next long copy is measured.
  void measure_next() { copies_left_ = 0; }

  struct Measured {
    float gain = 0;      // how much faster streaming stores are
    float ordinary = 0;  // seconds per byte, of ordinary stores; 0: too few bytes to tell
  };
  void learn(Measured measured);

 private:
  static constexpr std::size_t very_long_copy_min = 8192;

  static float gain_min(std::size_t bytes, Traffic traffic) {
    if (bytes < very_long_copy_min) return 1.5F;
    return traffic == Traffic::one_way ? 1.2F : 2.5F;
  }
  void copy_long(std::byte* to, const std::byte* from, std::size_t bytes, Traffic traffic);

  std::array<Measured, 3> measured_ = {};        // the latest ones, by turns
  std::size_t next_ = 0;                         // of these to be replaced
  Measured latest_ = {};                         // the middle one by its gain
  std::uint8_t interval_ = 1, copies_left_ = 0;  // from measurement to measurement; until the next one
};

}  // namespace hocket
