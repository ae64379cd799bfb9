// Outbox: the sending half of a link. Messages wait here until they lie in the ring.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <span>

#include "src/base/fifo.hpp"
#include "src/base/shared_copy.hpp"
#include "src/spi/plain_messages.hpp"
#include "transports/shm/ring.hpp"
#include "transports/shm/wake_word.hpp"

namespace hocket::shm {

class Outbox {
 public:
  // Messages of so many bytes may be written at once: in one piece, with their header.
  static constexpr std::size_t at_once_max = piece_bytes - cache_line_bytes;
  static_assert(at_once_max < in_place_bytes_min_of_two,
                "what may stay in its place is no message that is written at once");

  struct Flushed {
    std::size_t completed = 0;  // messages
    std::size_t bytes = 0;      // written, headers and padding included
    bool malformed = false;     // the peer has written nonsense into the ring
  };

  // `place`: where the peer finds the payload, so that it need not pass through the ring.
  void push(const MessageHeader& header, const std::byte* data, Completion& completion,
            const std::optional<PayloadPlace>& place = {}) {
    queue_.push_back({header, data, &completion, place});
  }
  bool empty() const { return queue_.empty() && in_place_.empty(); }
  // Whether none waits for room in the ring.
  bool all_written() const { return queue_.empty(); }
  // Ends all messages with `why`; from then on the peer uses no payload that has stayed in its place.
  void abandon(const Status& why);

  // Whether ring() has been given memory.
  bool open() const { return static_cast<bool>(ring_); }
  RingWriter& ring() { return ring_; }
  // Whether these bytes of plain memory stay where they lie: where their call's messages may, the peer can read them,
  // and that pays. The first such message that finds a ring asks the peer whether it can. Until it has begun with a
  // message behind that, they all pass through the ring.
  bool leaves_in_place(const PlainMessages& messages, const Signature& call, std::span<const std::byte> payload,
                       const PlainMemoryOwner& own);
  // Whether flush() has something to do; with less room than a line it may have nothing.
  bool ready() { return (!queue_.empty() && ring_.room() >= cache_line_bytes) || next_is_taken(); }
  // Writes a short message for which there is room, and none waits before it; then the reader is to be woken. False: it
  // is to be pushed; so always before it is open().
  bool write_at_once(const Tag& tag, std::span<const std::byte> data) noexcept;
  // Wakes the reader through its eventfd, if it sleeps. What it waits for has been published before a full fence that
  // the caller has passed: either the reader sees it, or we see that the reader sleeps. Any thread, once open().
  void wake_reader(int wake_event) const {
    auto& asleep = ring_.control().reader_sleeps;
    if (asleep.load(std::memory_order_relaxed) != 0) [[unlikely]]
      wake(asleep, wake_event);
  }
  // Writes as much as there is room for; completes what is written whole, and what the peer has taken from its place.
  // Wakes the reader through its eventfd.
  Flushed flush(int wake_event);

  // Tells the peer on which core this side waits, counted from 1.
  void tell_core(std::uint32_t core) {
    if (core == told_core_ || !ring_) return;
    told_core_ = core;
    ring_.control().writer_core.store(core, std::memory_order_relaxed);
  }
  // Says that this side sleeps until there is room, or does not any more.
  void announce_sleep(bool asleep);

 private:
  struct Message {
    MessageHeader header;
    const std::byte* data;
    Completion* completion;
    std::optional<PayloadPlace> place;

    std::size_t bytes_in_ring() const { return place ? cache_line_bytes : shm::bytes_in_ring(header.bytes); }
    // The first word of the header of one that does not come at once.
    std::uint64_t word_of_beginning() const {
      return header.bytes | MessageHeader::present | (place ? MessageHeader::in_place : 0);
    }
  };
  // A message whose header lies in the ring, up to `end`, and whose payload the peer has still to take.
  struct InPlace {
    std::uint64_t end;
    Completion* completion;
  };

  [[gnu::noinline]] bool look_and_write(const Tag& tag, std::span<const std::byte> data) noexcept;
  [[gnu::always_inline]] inline bool write_whole(const Tag& tag, std::span<const std::byte> data, std::size_t room);
  [[gnu::noinline]] bool write_tagged(const Tag& tag, std::span<const std::byte> data, std::size_t room);
  std::byte* begin_tagged(const Tag& tag, std::size_t bytes);
  bool write_piece(const Message& message, std::size_t room);
  bool ask_to_read(const PlainMemoryOwner& own);
  bool tries_copy(const PlainMessages& messages);
  bool next_is_taken() { return !in_place_.empty() && ring_.is_taken(in_place_.front().end); }
  // Of what is written into the ring. Ranks that share cores tell theirs; one of these may read on this core next.
  SharedCopy::Traffic traffic() const {
    return told_core_ == 0 ? SharedCopy::Traffic::one_way : SharedCopy::Traffic::both_ways;
  }
  void copy_beginning(const Message& message, std::byte* to, std::size_t bytes);
  void copy_payload(const Message& message, std::byte* to, std::size_t from, std::size_t bytes);

  Fifo<Message> queue_;
  Fifo<InPlace> in_place_;
  ReadableMemory readable_;
  bool asked_ = false;             // whether the peer can read plain memory
  std::uint32_t since_trial_ = 0;  // messages that might stay where they lie
  std::uint32_t told_core_ = 0;
  NextTag next_tag_;      // of what is written next
  std::size_t sent_ = 0;  // of the front message, header and padding included
  SharedCopy copy_;       // of payloads into the ring
  RingWriter ring_;
};

}  // namespace hocket::shm
