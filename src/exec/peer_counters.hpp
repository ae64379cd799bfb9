// PeerCounters: what a communicator on this rank has exchanged with one of its ranks, and how long it has waited for
// it.
#pragma once

#include <atomic>
#include <cstdint>

namespace hocket {

// Thread rule: the thread that progresses counts; any thread may read. Each number is right, all together only while
// nothing runs.
class PeerCounters {
 public:
  struct Values {
    std::uint64_t messages_sent = 0, messages_received = 0;
    std::uint64_t bytes_sent = 0, bytes_received = 0;
    std::uint64_t waits = 0, waited_ticks = 0;  // of the processor's counter

    void add(const Values& more) {
      messages_sent += more.messages_sent, messages_received += more.messages_received;
      bytes_sent += more.bytes_sent, bytes_received += more.bytes_received;
      waits += more.waits, waited_ticks += more.waited_ticks;
    }
  };

  void sent(std::uint64_t messages, std::uint64_t bytes) {
    add(messages_sent_, messages);
    add(bytes_sent_, bytes);
  }
  void received(std::uint64_t messages, std::uint64_t bytes) {
    add(messages_received_, messages);
    add(bytes_received_, bytes);
  }
  // Without messages.
  void carried(std::uint64_t bytes_there, std::uint64_t bytes_here) {
    add(bytes_sent_, bytes_there);
    add(bytes_received_, bytes_here);
  }
  void waited(std::uint64_t ticks) {
    add(waits_, 1);
    add(waited_ticks_, ticks);
  }
  Values get() const {
    constexpr auto any_order = std::memory_order_relaxed;
    return {.messages_sent = messages_sent_.load(any_order),
            .messages_received = messages_received_.load(any_order),
            .bytes_sent = bytes_sent_.load(any_order),
            .bytes_received = bytes_received_.load(any_order),
            .waits = waits_.load(any_order),
            .waited_ticks = waited_ticks_.load(any_order)};
  }

 private:
  using Count = std::atomic<std::uint64_t>;

  // Nobody else writes, so this need not be one step.
  static void add(Count& count, std::uint64_t more) {
    count.store(count.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }

  Count messages_sent_{0}, messages_received_{0}, bytes_sent_{0}, bytes_received_{0}, waits_{0}, waited_ticks_{0};
};

}  // namespace hocket
