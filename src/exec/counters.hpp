// Counters: what the operations of one communicator have moved.
#pragma once

#include <atomic>
#include <cstdint>

namespace hocket {

// A number that one thread at a time counts and any thread may read: each is right, several together only while nothing
// runs.
class Count {
 public:
  Count() = default;
  Count(const Count& other) : number_(other.get()) {}
  Count& operator=(const Count& other) {
    number_.store(other.get(), std::memory_order_relaxed);
    return *this;
  }

  operator std::uint64_t() const { return get(); }
  // Nobody else writes, so this need not be one step.
  [[gnu::always_inline]] Count& operator+=(std::uint64_t more) {
    number_.store(get() + more, std::memory_order_relaxed);
    return *this;
  }
  [[gnu::always_inline]] Count& operator++() { return *this += 1; }

 private:
  std::uint64_t get() const { return number_.load(std::memory_order_relaxed); }

  std::atomic<std::uint64_t> number_{0};
};

struct Counters {
  Counters& operator+=(const Counters& more) {
    operations += more.operations;
    steps += more.steps;
    messages_sent += more.messages_sent;
    bytes_sent += more.bytes_sent;
    bytes_received += more.bytes_received;
    return *this;
  }

  Count operations;
  Count steps;
  Count messages_sent;
  Count bytes_sent;
  Count bytes_received;
};

}  // namespace hocket
