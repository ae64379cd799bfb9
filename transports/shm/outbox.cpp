#include "transports/shm/outbox.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "src/base/copy_bytes.hpp"
#include "src/base/copy_small.hpp"
#include "src/base/prefetch.hpp"
#include "transports/shm/fence.hpp"
#include "transports/shm/wake_word.hpp"
namespace hocket::shm {
namespace {

constexpr std::size_t bytes_per_flush = std::size_t{1} << 20;  // then others have their turn

}  // namespace

void Outbox::abandon(const Status& why) {
  if (!in_place_.empty()) {
    ring_.control().withdrawn.store(1, std::memory_order_relaxed);
    full_fence();  // whoever sees what the caller does with the memory from now on sees this
  }
  for (; !in_place_.empty(); in_place_.pop_front()) in_place_.front().completion->done(why);
  for (; !queue_.empty(); queue_.pop_front()) queue_.front().completion->done(why);
}

Outbox::Flushed Outbox::flush(int wake_event) {
  Flushed flushed;
  if (next_is_taken() && ring_.room() > ring_data_bytes) {
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
    const std::size_t whole = front.bytes_in_ring();
    const std::size_t room = ring_.room();
    if (room > ring_data_bytes) {
      flushed.malformed = true;
      break;
    }
    const std::size_t bytes = std::min({whole - sent_, room, piece_bytes});
    if (bytes == 0) break;
    copy(front, bytes);
    show(bytes, wake_event);
    flushed.bytes += bytes;
    sent_ += bytes;
    if (sent_ < whole) continue;
    sent_ = 0;
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

bool Outbox::write_at_once(const Tag& tag, std::span<const std::byte> data, int wake_event) {
  const std::size_t bytes = bytes_in_ring(data.size()), room = ring_.room();
  if (!queue_.empty() || bytes > piece_bytes || bytes > room || room > ring_data_bytes) return false;
  std::byte* const to = ring_.at();
  ::new (to) MessageHeader{tag, data.size()};
  copy_small(to + sizeof(MessageHeader), data.data(), data.size());
  show(bytes, wake_event);
  prefetch_to_write(ring_.at());  // where the next message begins, which the reader has read a round ago
  return true;
}

// Lets the reader have what has been copied.
void Outbox::show(std::size_t bytes, int wake_event) {
  ring_.publish(bytes);
  full_fence();  // either the reader sees it, or we see that the reader sleeps
  auto& asleep = ring_.control().reader_sleeps;
  if (asleep.load(std::memory_order_relaxed) != 0) [[unlikely]]
    wake(asleep, wake_event);
}

// The next `bytes` of header, payload and padding, a whole number of cache lines.
void Outbox::copy(const Message& message, std::size_t bytes) {
  constexpr std::size_t header_bytes = sizeof(MessageHeader);
  std::byte* to = ring_.at();
  if (message.place) {
    const MessageHeader header{message.header.tag, message.header.bytes | MessageHeader::in_place};
    std::memcpy(to, &header, header_bytes);
    std::memcpy(to + header_bytes, &*message.place, sizeof *message.place);
    return;
  }
  std::size_t from = sent_;
  if (from == 0) {
    std::memcpy(to, &message.header, header_bytes);
    to += header_bytes;
    from = header_bytes;
    bytes -= header_bytes;
  }
  const std::size_t payload = std::min<std::size_t>(bytes, message.header.bytes - (from - header_bytes));
  copy_bytes(to, message.data + (from - header_bytes), payload);
}

void Outbox::announce_sleep(bool asleep) {
  if (!ring_ || (asleep && empty())) return;
  auto& word = ring_.control().writer_sleeps;
  if (asleep || word.load(std::memory_order_relaxed) != 0) word.store(asleep ? 1 : 0, std::memory_order_relaxed);
}

}  // namespace hocket::shm
