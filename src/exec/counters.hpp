// Counters: what the operations of one communicator have moved.
#pragma once

#include <atomic>
#include <cstdint>

namespace hocket {

// Counted as it happens.
struct Counters {
  std::uint64_t operations = 0;
  std::uint64_t steps = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
};

// Counters as other threads see them; each number is right, all together only while nothing runs.
class ShownCounters {
 public:
  void show(const Counters& counters) {
    operations_.store(counters.operations, std::memory_order_relaxed);
    steps_.store(counters.steps, std::memory_order_relaxed);
    messages_sent_.store(counters.messages_sent, std::memory_order_relaxed);
    bytes_sent_.store(counters.bytes_sent, std::memory_order_relaxed);
    bytes_received_.store(counters.bytes_received, std::memory_order_relaxed);
  }
  Counters get() const { return {operations_, steps_, messages_sent_, bytes_sent_, bytes_received_}; }

 private:
  std::atomic<std::uint64_t> operations_{0}, steps_{0}, messages_sent_{0}, bytes_sent_{0}, bytes_received_{0};
};

}  // namespace hocket
