#include "transports/shm/outbox.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>

#include "src/base/arithmetic.hpp"
#include "src/base/copy_small.hpp"
#include "src/base/fence.hpp"
#include "src/base/prefetch.hpp"

namespace hocket::shm {
namespace {

constexpr std::size_t bytes_per_flush = std::size_t{1} << 20;  // then others have their turn

// The payload of an untagged message lies behind this word.
[[gnu::always_inline]] inline bool show_untagged(std::byte* word, std::size_t payload) {
  RingWriter::show(word, MessageHeader::word_of_untagged(payload));
  // What one of the next messages clears; the reader has read that a round ago.
  prefetch_to_write(word + untagged_bytes_in_ring(payload) + cache_line_bytes);
  return true;
}

[[gnu::noinline]] bool copy_untagged(std::byte* word, std::span<const std::byte> payload) {
  copy_bytes(word + sizeof(std::uint64_t), payload.data(), payload.size());
  return show_untagged(word, payload.size());
}

}  // namespace

void Outbox::abandon(const Status& why) {
  if (!in_place_.empty()) {
    ring_.control().withdrawn.store(1, std::memory_order_relaxed);
    full_fence();  // whoever sees what the caller does with the memory from now on sees this
  }
  for (; !in_place_.empty(); in_place_.pop_front()) in_place_.front().completion->done(why);
  for (; !queue_.empty(); queue_.pop_front()) queue_.front().completion->done(why);
}

bool Outbox::leaves_in_place(const PlainMessages& messages, const Signature& call, std::span<const std::byte> payload,
                             const PlainMemoryOwner& own) {
  if (!messages.include(call, payload.size()) || !open()) return false;
  // As of what goes both ways, though the ring streams what goes one way sooner: the peer sends as much meanwhile.
  const double copy = copy_.seconds_per_byte(payload.size(), SharedCopy::Traffic::both_ways);
  if (!messages.pay(copy) || tries_copy(messages)) return false;
  return ask_to_read(own) && readable_.holds(payload, std::chrono::steady_clock::now());
}

// Whether a message passes through the ring that need not, so that `copy_` measures again: one of 64.
bool Outbox::tries_copy(const PlainMessages& messages) {
  constexpr std::uint32_t messages_between_trials = 64;
  if (messages.always || !messages.weigh_copies || ++since_trial_ < messages_between_trials) return false;
  since_trial_ = 0;
  copy_.measure_next();
  return true;
}

// Whether the peer has shown that it can read plain memory of this process; asks it to. Requires open().
bool Outbox::ask_to_read(const PlainMemoryOwner& own) {
  if (!asked_) own.show(ring_.control().writer, false);
  asked_ = true;
  return ring_.control().reader_reads.load(std::memory_order_relaxed) != 0;
}

// Writes a message in one piece. False: it is too long for that, or for the room. What is seldom done is a tail
// call, so that all other messages need no registers saved.
inline bool Outbox::write_whole(const Tag& tag, std::span<const std::byte> data, std::size_t room) {
  if (data.size() > untagged_max || !next_tag_.is(tag)) return write_tagged(tag, data, room);
  const std::size_t bytes = untagged_bytes_in_ring(data.size());
  if (bytes > room) return false;
  next_tag_.pass();
  std::byte* const word = ring_.begin(bytes);
  const bool is_copied = copy_numbers(word + sizeof(std::uint64_t), data.data(), data.size());
  return is_copied ? show_untagged(word, data.size()) : copy_untagged(word, data);
}

Outbox::Flushed Outbox::flush(int wake_event) {
  Flushed flushed;
  if (next_is_taken() && ring_.room() > ring_room_max) {
    flushed.malformed = true;
    return flushed;
  }
  for (; next_is_taken(); ++flushed.completed) {
    Completion* const completion = in_place_.front().completion;
    in_place_.pop_front();
    completion->done(Status());
  }
  while (!queue_.empty() && flushed.bytes < bytes_per_flush) {
    const Message front = queue_.front();
    const std::size_t room = ring_.room();
    if (room > ring_room_max) {
      flushed.malformed = true;
      break;
    }
    const std::uint64_t before = ring_.written();
    const bool at_once =
        sent_ == 0 && !front.place && write_whole(front.header.tag, {front.data, front.header.bytes}, room);
    const bool over = at_once || write_piece(front, room);
    if (ring_.written() == before) break;
    full_fence();
    wake_reader(wake_event);
    flushed.bytes += ring_.written() - before;
    if (!over) continue;
    queue_.pop_front();
    if (front.place) {
      in_place_.push_back({ring_.written(), front.completion});
      continue;
    }
    ++flushed.completed;
    front.completion->done(Status());
  }
  return flushed;
}

bool Outbox::write_at_once(const Tag& tag, std::span<const std::byte> data) noexcept {
  if (!queue_.empty()) return false;
  return ring_.knows_room() ? write_whole(tag, data, ring_.known_room()) : look_and_write(tag, data);
}

bool Outbox::look_and_write(const Tag& tag, std::span<const std::byte> data) noexcept {
  const std::size_t room = ring_.room_before(data.size());
  return room <= ring_room_max && write_whole(tag, data, room);
}

// Where a message with this tag begins, and its first `bytes` are to be written.
std::byte* Outbox::begin_tagged(const Tag& tag, std::size_t bytes) {
  ring_.align();
  next_tag_.pass(tag);
  return ring_.begin(bytes);
}

bool Outbox::write_tagged(const Tag& tag, std::span<const std::byte> data, std::size_t room) {
  const std::size_t bytes = bytes_in_ring(data.size());
  if (bytes > piece_bytes || bytes > round_down(room, cache_line_bytes)) return false;
  std::byte* const line = begin_tagged(tag, bytes);
  // The first line comes last and at once, since the reader may be looking at it.
  constexpr std::size_t in_first = cache_line_bytes - sizeof(MessageHeader);
  if (data.size() <= in_first) [[likely]] {
    copy_small(line + sizeof(MessageHeader), data.data(), data.size());
  } else {
    copy_.copy(line + cache_line_bytes, data.data() + in_first, data.size() - in_first, traffic());
    std::memcpy(line + sizeof(MessageHeader), data.data(), in_first);
  }
  ::new (line + offsetof(MessageHeader, tag)) Tag(tag);
  RingWriter::show(line, MessageHeader::word_of_whole(data.size()));
  if (data.size() > short_message_bytes) ring_.long_message();
  // What the next message clears if it is like this one; the reader has read that a round ago.
  prefetch_to_write(line + 2 * bytes);
  return true;
}

// Writes as much of the message as there is room for. Whether that was the end of it.
bool Outbox::write_piece(const Message& message, std::size_t room) {
  const std::size_t whole = message.bytes_in_ring();
  const std::size_t bytes = std::min({whole - sent_, round_down(room, cache_line_bytes), piece_bytes});
  if (bytes == 0) return false;
  if (sent_ == 0) {
    std::byte* const header = begin_tagged(message.header.tag, bytes);
    copy_beginning(message, header, bytes);
    RingWriter::show(header, message.word_of_beginning());
  } else {
    copy_payload(message, ring_.at(), sent_ - sizeof(MessageHeader), bytes);
    ring_.publish(bytes);
  }
  ring_.long_message();
  sent_ += bytes;
  if (sent_ < whole) return false;
  sent_ = 0;
  return true;
}

// The first `bytes` of header, payload and padding; not the header's first word.
void Outbox::copy_beginning(const Message& message, std::byte* to, std::size_t bytes) {
  ::new (to + offsetof(MessageHeader, tag)) Tag(message.header.tag);
  to += sizeof(MessageHeader);
  if (message.place) {
    std::memcpy(to, &*message.place, sizeof *message.place);
  } else {
    copy_payload(message, to, 0, bytes - sizeof(MessageHeader));
  }
}

// The next `bytes` of payload and padding.
void Outbox::copy_payload(const Message& message, std::byte* to, std::size_t from, std::size_t bytes) {
  copy_.copy(to, message.data + from, std::min<std::size_t>(bytes, message.header.bytes - from), traffic());
}

void Outbox::announce_sleep(bool asleep) {
  if (!ring_ || (asleep && empty())) return;
  auto& word = ring_.control().writer_sleeps;
  if (asleep || word.load(std::memory_order_relaxed) != 0) word.store(asleep ? 1 : 0, std::memory_order_relaxed);
}

}  // namespace hocket::shm
