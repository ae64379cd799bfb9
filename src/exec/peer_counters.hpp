// PeerCounters: what a communicator on this rank has exchanged with one of its ranks, and how long it has waited for
// it.
#pragma once

#include <cstdint>

#include "src/exec/counters.hpp"

namespace hocket {

// Thread rule: the thread that progresses counts; any thread may read.
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
    messages_sent_ += messages;
    bytes_sent_ += bytes;
  }
  void received(std::uint64_t messages, std::uint64_t bytes) {
    messages_received_ += messages;
    bytes_received_ += bytes;
  }
  // Without messages.
  void carried(std::uint64_t bytes_there, std::uint64_t bytes_here) {
    bytes_sent_ += bytes_there;
    bytes_received_ += bytes_here;
  }
  void waited(std::uint64_t ticks) {
    ++waits_;
    waited_ticks_ += ticks;
  }
  Values get() const {
    return {.messages_sent = messages_sent_,
            .messages_received = messages_received_,
            .bytes_sent = bytes_sent_,
            .bytes_received = bytes_received_,
            .waits = waits_,
            .waited_ticks = waited_ticks_};
  }

 private:
  Count messages_sent_, messages_received_, bytes_sent_, bytes_received_, waits_, waited_ticks_;
};

}  // namespace hocket
