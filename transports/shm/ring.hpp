// Ring: bytes from one process to another through shared memory, with one writer and one reader.
//
// A message is a header, its payload, and padding to where the next one may begin; what is given back is whole cache
// lines. The data area is mapped twice, one behind the other, so every stretch of it lies in one piece. The payload of
// a long message may stay where it is, in memory that its sender has registered or in plain memory that the reader has
// shown it can read: then its place follows the header, and the message is over when that has been given back.
//
// A message has come when the first word of its header is not 0: the writer clears the word behind the latest message
// before it shows that message. So the reader looks where the next message will lie. The word that says how far all is
// written is for those that come in pieces.
//
// As long as all messages are short and the reader keeps up, they stay in the front of the ring: so they remain in the
// nearest caches, also where several processes share these, and a ring without long messages takes little memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "src/base/arithmetic.hpp"
#include "src/base/mismatch.hpp"
#include "src/spi/status.hpp"
#include "transports/shm/message_header.hpp"
#include "transports/shm/plain_memory.hpp"
#include "transports/shm/shared_memory.hpp"

namespace hocket::shm {

// What lies before the data. What is written for messages has a line of its own, written by one side.
struct RingControl {
  alignas(cache_line_bytes) std::atomic<std::uint64_t> written;        // bytes ever; the writer's
  std::atomic<std::uint32_t> withdrawn;                                // 1: payloads are not in their places any more
  alignas(cache_line_bytes) std::atomic<std::uint64_t> taken;          // bytes ever; the reader's
  alignas(cache_line_bytes) std::atomic<std::uint32_t> writer_sleeps;  // until there is room
  std::atomic<std::uint32_t> writer_core;  // on which its thread began to wait last, counted from 1; 0: none yet
  alignas(cache_line_bytes) std::atomic<std::uint32_t> reader_sleeps;  // until something comes
  alignas(cache_line_bytes) std::atomic<std::uint32_t> reader_reads;   // 1: plain memory of the writer, where it lies
  alignas(cache_line_bytes) PlainMemoryInfo writer;                    // zeros until it would have that read
};

inline constexpr std::size_t ring_front_bytes = 4096;
// More than a message of 256 KiB takes with its header: else its writer and reader would wait for each other once more.
inline constexpr std::size_t ring_data_bytes = std::size_t{288} << 10;
inline constexpr std::size_t ring_bytes = ring_front_bytes + ring_data_bytes;
// All that a writer may have written before the reader gives something back: one line stays its own.
inline constexpr std::size_t ring_room_max = ring_data_bytes - cache_line_bytes;
// Where short messages that follow as many bytes of short ones pass such a boundary, they may go back to the front.
inline constexpr std::size_t ring_stretch_bytes = std::size_t{8} << 10;
inline constexpr std::size_t short_message_bytes = std::size_t{1} << 10;
// Long messages are written and taken in pieces of so many bytes, then the other side may go on.
inline constexpr std::size_t piece_bytes = std::size_t{32} << 10;
static_assert(sizeof(RingControl) <= ring_front_bytes && ring_data_bytes % ring_stretch_bytes == 0);

// Both ends begin without memory; then there is neither room nor data.
class RingWriter {
 public:
  // Creates the memory and returns its descriptor, for the reader.
  Result<UniqueFd> create();
  explicit operator bool() const { return static_cast<bool>(mapping_); }
  RingControl& control() const { return *reinterpret_cast<RingControl*>(mapping_.data()); }

  // Bytes that may be written now; more than ring_room_max where the reader has written nonsense. A line behind them is
  // the writer's, too.
  std::size_t room();
  // The same before a message with so many bytes, which may come to lie at the front.
  std::size_t room_before(std::size_t message);
  // Whether there is no need for that: known_room() is enough to go on, and is no nonsense.
  bool knows_room() const { return written_ < looks_at_; }
  // As last seen.
  std::size_t known_room() const { return ring_room_max - (written_ - taken_); }
  std::byte* at() const { return mapping_.data() + ring_front_bytes + written_ % ring_data_bytes; }
  // The next `bytes`, to write the beginning of a message to, which the reader has once that is shown. The word
  // behind them is cleared now, so that nothing comes between what is written to the line in which they begin.
  std::byte* begin(std::size_t bytes) {
    if (bytes > long_bytes && !entered_) [[unlikely]]
      enter();
    std::byte* const header = at();
    publish(header, bytes);
    return header;
  }
  // Shows a message that has been written there, but for the first word of its header, which is this.
  static void show(std::byte* header, std::uint64_t word) { arrival_at(header).store(word, std::memory_order_release); }
  // Lets the reader have whole slots that have been written, of a message that has been shown; behind them nothing has
  // come yet.
  void publish(std::size_t bytes) { publish(at(), bytes); }
  // Goes on to the next cache line. What is left of this one is what room() has beside whole lines.
  void align() {
    const std::size_t begun = written_ % cache_line_bytes;
    if (begun != 0) [[unlikely]]
      show(begin(cache_line_bytes - begun), MessageHeader::rest_is_empty);
  }
  // What was written last is of a message that is not short.
  void long_message() { short_from_ = written_; }
  std::uint64_t written() const { return written_; }  // bytes ever
  // Whether the reader has given back all up to there.
  bool is_taken(std::uint64_t end);

 private:
  static constexpr std::size_t long_bytes = 4096;

  // The same; `here` is at().
  void publish(std::byte* here, std::size_t bytes) {
    RingControl& shown = control();
    const std::uint64_t written = written_ + bytes;
    arrival_at(here + bytes).store(0, std::memory_order_relaxed);
    written_ = written;
    shown.written.store(written, std::memory_order_release);
  }
  void look_at_taken();
  void go_to_front();
  // Has the kernel enter all pages that pieces are written to, which takes a small part of the time of a fault for
  // each. Rings that carry nothing long do without.
  void enter();

  Mapping mapping_;
  bool entered_ = false;
  std::uint64_t written_ = 0;
  std::uint64_t taken_ = 0;       // as last seen; more than written_ where that is nonsense
  std::uint64_t looks_at_ = 0;    // from there on, again, before a message; 0 where `taken_` is nonsense
  std::uint64_t short_from_ = 0;  // all messages behind this are short
};

class RingReader {
 public:
  Status open(int fd);
  explicit operator bool() const { return static_cast<bool>(mapping_); }
  RingControl& control() const { return *reinterpret_cast<RingControl*>(mapping_.data()); }

  // The next message, where all that came before it has been read: the first word of its header, 0 if it has not come,
  // and where that lies, at().
  struct Next {
    std::uint64_t arrival = 0;
    const std::byte* header = nullptr;
  };
  Next next() {
    if (!mapping_) return {};
    std::byte* const here = place();
    const std::uint64_t word = arrival_at(here).load(std::memory_order_acquire);
    return is_message_or_none(word) ? Next{word, here} : next_behind(word);
  }
  std::uint64_t arrival() { return next().arrival; }
  // Bytes that may be read now; more than the ring holds where the writer has written nonsense. Looks again only where
  // fewer than `wanted` are known.
  std::size_t available(std::size_t wanted = 1) {
    if (!mapping_) return 0;
    if (written_ < position_ + wanted) written_ = control().written.load(std::memory_order_acquire);
    return written_ - position_;
  }
  const std::byte* at() const { return place(); }
  std::uint64_t position() const { return position_; }  // bytes ever that were read
  void skip(std::size_t bytes) { position_ += bytes; }
  // Goes on to where the next message begins, behind one that began at a multiple of this.
  void align(std::size_t unit) { position_ = round_up(position_, unit); }
  // Gives back what was skipped. Whether a writer that sleeps is to be woken for it: there is room for half a ring (it
  // would fill less at once and sleep again), and the reader has come into another stretch of it, so that not every
  // message asks. A writer that sleeps has filled the ring, so a yes comes before all of that is read.
  bool give_back() {
    const std::uint64_t whole = round_down(position_, cache_line_bytes);
    return whole != given_ && give_back_to(whole);
  }

 private:
  [[gnu::noinline]] bool give_back_to(std::uint64_t whole);
  std::byte* place() const { return mapping_.data() + ring_front_bytes + position_ % ring_data_bytes; }
  static bool is_message_or_none(std::uint64_t word) {
    static_assert(MessageHeader::rest_is_empty == 1 && MessageHeader::front_is_next == 2);
    return word - 1 > 1;
  }
  [[gnu::noinline]] Next next_behind(std::uint64_t mark) {
    const std::size_t unit = mark == MessageHeader::rest_is_empty ? cache_line_bytes : ring_data_bytes;
    if (position_ % unit == 0) return {mark, place()};  // nonsense
    align(unit);
    return {arrival_at(place()).load(std::memory_order_acquire), place()};
  }

  Mapping mapping_;
  std::uint64_t position_ = 0;
  std::uint64_t given_ = 0;
  std::uint64_t written_ = 0;  // as last seen: where messages that came at once have been read, before that position
};

}  // namespace hocket::shm
