// What is kept of an operation once it has begun (Recorder).
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "src/spi/transport.hpp"

namespace hocket {

// What the tag does not say.
struct RecordDetail {
  Rank peer = no_rank;     // of a message: the other end
  std::uint32_t path = 0;  // of a direct operation: its DirectPath, counted from 1; 0: not chosen yet, or none
};

// A cache line, written by the thread that progresses while others may read it.
class OperationRecord {
 public:
  // As it was when it was read; half of another one where it was written meanwhile.
  struct Contents {
    Tag tag;
    RecordDetail detail;
    std::uint64_t began = 0;  // ticks of the processor; 0: nothing was written here yet
    std::uint64_t ended = 0;  // before `began`: it has not ended; this is of the one that was here before
  };
  static_assert(sizeof(Contents) == 64);

  void begin(const Tag& tag, const RecordDetail& detail, std::uint64_t ticks) {
    const auto call = std::bit_cast<std::array<std::uint64_t, 5>>(tag);
    words_[0].store(call[0], std::memory_order_relaxed);  // one by one: compilers do not unroll this
    words_[1].store(call[1], std::memory_order_relaxed);
    words_[2].store(call[2], std::memory_order_relaxed);
    words_[3].store(call[3], std::memory_order_relaxed);
    words_[4].store(call[4], std::memory_order_relaxed);
    words_[5].store(std::bit_cast<std::uint64_t>(detail), std::memory_order_relaxed);
    words_[6].store(ticks, std::memory_order_relaxed);
  }
  void choose(std::uint32_t path) {
    words_[5].store(std::bit_cast<std::uint64_t>(RecordDetail{.path = path}), std::memory_order_relaxed);
  }
  void end(std::uint64_t ticks) { words_[7].store(ticks, std::memory_order_relaxed); }
  std::uint32_t sequence() const { return static_cast<std::uint32_t>(words_[0].load(std::memory_order_relaxed) >> 32); }
  Contents read() const {
    std::array<std::uint64_t, 8> words{};
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = words_[i].load(std::memory_order_relaxed);
    return std::bit_cast<Contents>(words);
  }

 private:
  std::array<std::atomic<std::uint64_t>, 8> words_{};
};
static_assert(sizeof(OperationRecord) == 64);

}  // namespace hocket
