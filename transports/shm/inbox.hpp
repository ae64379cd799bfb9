// Inbox: the receiving half of a link. What came lies in the ring, or where its sender has left it; from there it is
// copied to where its receive wants it, or reduced: without any copy, but for what only the kernel can read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/base/fifo.hpp"
#include "src/spi/plain_messages.hpp"
#include "transports/shm/ring.hpp"

namespace hocket::shm {

struct PostedReceive {
  MessageHeader expected;  // the header that must come
  Buffer to{};
  const std::byte* mine = nullptr;  // for a reduction
  Reduction reduction{};            // no kernel: the bytes just land in `to`
  Completion* completion = nullptr;
  bool past_caches = false;  // it is stored so, where it is copied
};

// How many receives of messages that may stay in their place are posted on all links of this rank.
using LongReceives = std::size_t;

// The memory of peers in which payloads may lie.
class Payloads {
 public:
  virtual ~Payloads() = default;
  // Where the bytes from `offset` of a place on can be read here, until the window of that place is tidied. Null: this
  // process does not know the memory.
  virtual const std::byte* find(Rank peer, const PayloadPlace& place, std::size_t offset, std::size_t bytes) = 0;
};

class Inbox {
 public:
  // `payloads` may be null where none lies elsewhere. `may_read`: plain memory of the writer, where that asks.
  Inbox(Rank peer, Payloads* payloads, LongReceives& long_receives, bool may_read = false)
      : peer_(peer), payloads_(payloads), long_receives_(long_receives), may_read_(may_read) {}

  enum class Event {
    none,       // nothing but messages that fit their receives
    mismatch,   // the next message does not fit the next receive: got() and expected()
    malformed,  // the peer has written nonsense into the ring
    unknown,    // the payload lies in memory that this process does not know yet
    unreadable  // the payload lies in plain memory of the sender, which has none there
  };
  struct Received {
    std::size_t completed = 0;  // messages
    std::size_t bytes = 0;      // read
    Event event = Event::none;  // a mismatch, or what is malformed, is the last thing this inbox has to say

    std::size_t happened() const { return completed + (bytes > 0 ? 1 : 0); }
  };

  void post(const PostedReceive& receive) {
    posted_.push_back(receive);
    if (receive.to.bytes >= in_place_bytes_min) ++long_receives_;
  }
  // Ends all receives with `why`.
  void abandon(const Status& why);
  bool wanted() const { return !posted_.empty(); }

  bool open() const { return static_cast<bool>(ring_); }
  RingReader& ring() { return ring_; }
  bool ready() {
    if (posted_.empty()) return false;
    if (!in_message_) return ring_.arrival() != 0;
    if (in_place_) return !is_withdrawn() && (!place_.is_plain() || can_read_writer_);
    return ring_.available(element_bytes()) >= element_bytes();
  }
  // Whether a message has come that is taken from where its sender has left it.
  bool next_lies_in_its_place() { return !in_message_ && (ring_.arrival() & MessageHeader::in_place) != 0; }
  // The next message's header, if no receive is posted.
  enum class Probe { none, message, malformed };
  Probe probe(MessageHeader& header);
  // Whether probe() would find a message that it has not found before.
  bool news() { return posted_.empty() && ring_.arrival() != 0 && probed_ != ring_.position(); }
  // Whether all that came has been received.
  bool drained() { return in_message_ ? ring_.available() == 0 : ring_.arrival() == 0; }
  // Takes the message that must come next, where it has come in one piece and no receive is posted. False: it is to be
  // posted.
  bool take_at_once(const Tag& tag, std::span<std::byte> to, int wake_event);
  // Delivers what has come. Wakes the writer through its eventfd when there is much room.
  Received advance(int wake_event);

  // Whether a short message is wanted whose writer waited last on another core than this one; both are counted from 1.
  bool awaits_another_core(std::uint32_t core) const {
    if (posted_.empty() || posted_.front().to.bytes > short_message_bytes || !ring_) return false;
    const std::uint32_t writers = ring_.control().writer_core.load(std::memory_order_relaxed);
    return writers != 0 && writers != core;
  }
  // The writer's process has ended: its plain memory is gone.
  void forget_writer() { can_read_writer_ = false; }
  // After Event::unreadable.
  const std::string& why_unreadable() const { return why_unreadable_; }

  // Says that this side sleeps until something comes, or does not any more. `listening`: also while no receive is
  // posted.
  void announce_sleep(bool asleep, bool listening);

  MessageIdentity got() const { return {header_.tag, header_.bytes}; }
  MessageIdentity expected() const { return {posted_.front().expected.tag, posted_.front().expected.bytes}; }

 private:
  // Of these there must be so many, at least, for the front receive to go on with its message.
  std::size_t element_bytes() const { return posted_.front().reduction.element_bytes; }
  [[gnu::always_inline]] inline bool take_whole(const Tag& tag, std::span<std::byte> to);
  Completion& take_posted();
  void complete(Received& received);
  bool begin(Received& received);
  std::size_t read_header(std::uint64_t arrival, MessageHeader& header) const;
  bool take_from_ring(Received& received);
  bool take_from_place(Received& received);
  std::size_t next_piece(std::size_t bytes) const;
  bool take_registered(Received& received);
  bool take_plain(Received& received);
  void answer_writer();
  void put(const std::byte* from, std::size_t bytes);
  bool is_withdrawn() const { return ring_.control().withdrawn.load(std::memory_order_relaxed) != 0; }
  [[gnu::always_inline]] inline void give_back(int wake_event);
  [[gnu::noinline]] void wake_writer(int wake_event);

  const Rank peer_;
  Payloads* const payloads_;
  LongReceives& long_receives_;
  const bool may_read_;

  Fifo<PostedReceive> posted_;
  bool in_message_ = false;        // the front receive's header has been taken
  std::size_t got_ = 0;            // bytes of its payload that have been received
  MessageHeader header_;           // the latest that was not taken at once
  NextTag next_tag_;               // of the next message, where it has none
  std::size_t unit_ = 0;           // the front message began at a multiple of it
  bool in_place_ = false;          // its payload lies elsewhere
  PayloadPlace place_;             // there
  bool took_from_place_ = false;   // its sender waits for the end of that
  std::vector<std::byte> copied_;  // of a payload that may change meanwhile, or that only the kernel can read
  PlainMemory writer_;             // once it has asked whether this process can read it
  bool answered_ = false;
  bool can_read_writer_ = false;
  std::string why_unreadable_;
  std::uint64_t probed_ = UINT64_MAX;  // where the message lies that probe() has found
  RingReader ring_;
};

}  // namespace hocket::shm
