// What is kept of an operation once it has begun (Recorder).
#pragma once

#include <immintrin.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "src/spi/transport.hpp"

namespace hocket {

// What the tag does not say.
struct RecordDetail {
  Rank peer = no_rank;  // of a message: the other end
  // Of a direct operation: its DirectPath, counted from 1; until it is chosen, that of the run before, if that was of
  // the same call; 0: not chosen yet, or none.
  std::uint32_t path = 0;
};

// When something happened, in ticks of the processor, in the two halves as the instruction gives them: to join them
// takes instructions. Who reads while one is taken may get the later half of the one before, which is then the earlier
// time.
class TickStamp {
 public:
  struct Ticks {
    std::uint32_t low = 0, high = 0;
  };
  static Ticks now() {
    Ticks ticks;
    asm volatile("rdtsc" : "=a"(ticks.low), "=d"(ticks.high));
    return ticks;
  }
  void set(Ticks ticks) {
    low_.store(ticks.low, std::memory_order_relaxed);
    high_.store(ticks.high, std::memory_order_release);
  }
  // For its writer.
  Ticks halves() const { return {low_.load(std::memory_order_relaxed), high_.load(std::memory_order_relaxed)}; }
  std::uint64_t read() const {
    const std::uint64_t high = high_.load(std::memory_order_acquire);
    return high << 32 | low_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint32_t> low_{0}, high_{0};
};

// A cache line, written by the thread that progresses while others may read it. What is written for every call counts
// each instruction.
class alignas(64) OperationRecord {
 public:
  // As it was when it was read; half of another one where it was written meanwhile.
  struct Contents {
    Tag tag;
    RecordDetail detail;
    std::uint64_t began = 0;  // ticks of the processor; 0: nothing was written here yet
    std::uint64_t ended = 0;  // before `began`: it has not ended; this is of the one that was here before

    // Whether it has no times of its own, see add_untimed().
    bool untimed() const { return ended == began + 1; }
  };
  static_assert(sizeof(Contents) == 64);

  // `call`: of the operation; not read from the tag.
  void begin(const Tag& tag, const Signature& call, const RecordDetail& detail) {
    put(tag, call, detail);
    began_.set(TickStamp::now());
  }
  void choose(std::uint32_t path) {
    detail_.store(std::bit_cast<std::uint64_t>(RecordDetail{.path = path}), std::memory_order_relaxed);
  }
  void end() { ended_.set(TickStamp::now()); }
  // One that has begun and ended at once.
  void add(const Tag& tag, const Signature& call, const RecordDetail& detail) {
    put(tag, call, detail);
    const TickStamp::Ticks now = TickStamp::now();
    began_.set(now);
    ended_.set(now);
  }
  // The same where the clock is not read, which was read before at `then`. It has ended one tick later: nothing that is
  // timed takes so little.
  void add_untimed(const Tag& tag, const Signature& call, const RecordDetail& detail, TickStamp::Ticks then) {
    put(tag, call, detail);
    began_.set({then.low & ~1U, then.high});
    ended_.set({then.low | 1U, then.high});
  }
  TickStamp::Ticks began() const { return began_.halves(); }
  std::uint32_t sequence() const { return sequence_.load(std::memory_order_relaxed); }
  Contents read() const {
    std::array<std::uint64_t, 4> call{};
    for (std::size_t i = 0; i < call.size(); ++i) call[i] = call_[i].load(std::memory_order_relaxed);
    return {.tag = {.communicator = communicator_.load(std::memory_order_relaxed),
                    .sequence = sequence(),
                    .call = std::bit_cast<Signature>(call)},
            .detail = std::bit_cast<RecordDetail>(detail_.load(std::memory_order_relaxed)),
            .began = began_.read(),
            .ended = ended_.read()};
  }

 private:
  void put(const Tag& tag, const Signature& call, const RecordDetail& detail) {
#ifdef __SANITIZE_THREAD__  // which takes what follows for a race; a reader drops what may be half written
    communicator_.store(tag.communicator, std::memory_order_relaxed);
    sequence_.store(tag.sequence, std::memory_order_relaxed);
    const auto words = std::bit_cast<std::array<std::uint64_t, 4>>(call);
    for (std::size_t i = 0; i < words.size(); ++i) call_[i].store(words[i], std::memory_order_relaxed);
#else  // three stores, not six; and no load of what was written in two halves, for which the processor would wait
    const std::uint64_t name = std::uint64_t{tag.sequence} << 32 | tag.communicator;
    const auto* const from = reinterpret_cast<const __m128i*>(&call);
    const __m128i first = _mm_loadu_si128(from), second = _mm_loadu_si128(from + 1);
    auto* const to = reinterpret_cast<__m128i*>(call_.data());
    std::memcpy(reinterpret_cast<std::byte*>(this), &name, sizeof name);
    _mm_storeu_si128(to, first);
    _mm_storeu_si128(to + 1, second);
#endif
    detail_.store(std::bit_cast<std::uint64_t>(detail), std::memory_order_relaxed);
  }

  std::atomic<std::uint32_t> communicator_{0}, sequence_{0};  // side by side, as in a tag
  std::array<std::atomic<std::uint64_t>, 4> call_{};
  std::atomic<std::uint64_t> detail_{0};
  TickStamp began_, ended_;
};
static_assert(sizeof(OperationRecord) == 64);

}  // namespace hocket
