#include "transports/shm/inbox.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/base/wake_event.hpp"
#include "transports/shm/fence.hpp"

namespace hocket::shm {
namespace {

constexpr std::size_t piece_bytes = std::size_t{32} << 10;       // then the writer may go on
constexpr std::size_t bytes_per_advance = std::size_t{1} << 20;  // then others have their turn

}  // namespace

void Inbox::abandon(const Status& why) {
  for (; !posted_.empty(); posted_.pop_front()) posted_.front().completion->done(why);
}

Inbox::Received Inbox::advance(int wake_event) {
  Received received;
  while (!posted_.empty() && received.bytes < bytes_per_advance) {
    if (!in_message_ && !begin(received)) break;
    const PostedReceive& front = posted_.front();
    const std::size_t missing = front.to.bytes - got_;
    if (missing > 0) {
      const std::size_t available = ring_.available(missing);
      if (available > ring_data_bytes) {
        received.event = Event::malformed;
        break;
      }
      if (!take(std::min({available, missing, piece_bytes}), received)) break;
      if (got_ < front.to.bytes) {
        give_back(wake_event);
        continue;
      }
    }
    ring_.align();
    Completion* const completion = front.completion;
    posted_.pop_front();
    in_message_ = false;
    got_ = 0;
    ++received.completed;
    completion->done(Status());
  }
  if (received.bytes > 0) give_back(wake_event);
  return received;
}

// Takes the next header. False: there is none, or it is not the one that must come.
bool Inbox::begin(Received& received) {
  const std::size_t available = ring_.available();
  if (available == 0) return false;
  if (available > ring_data_bytes || available < sizeof header_) {
    received.event = Event::malformed;
    return false;
  }
  std::memcpy(&header_, ring_.at(), sizeof header_);
  if (std::memcmp(&header_, &posted_.front().expected, sizeof header_) != 0) {
    received.event = Event::mismatch;
    return false;
  }
  ring_.skip(sizeof header_);
  received.bytes += sizeof header_;
  in_message_ = true;
  return true;
}

// Puts up to `bytes` of payload in place, whole elements only. False: not even one is there.
bool Inbox::take(std::size_t bytes, Received& received) {
  const PostedReceive& front = posted_.front();
  bytes -= bytes % front.reduction.element_bytes;
  if (bytes == 0) return false;
  if (!front.reduction.combines()) {
    std::memcpy(front.to.data + got_, ring_.at(), bytes);
  } else {
    front.reduction.combine_part(front.to.data, front.mine, got_, ring_.at(), bytes);
  }
  ring_.skip(bytes);
  got_ += bytes;
  received.bytes += bytes;
  return true;
}

// The writer is woken only when there is room for half a ring: it would fill less at once and sleep again.
void Inbox::give_back(int wake_event) {
  if (ring_.give_back() < ring_data_bytes / 2) return;
  full_fence();  // either the writer sees it, or we see that the writer sleeps
  auto& asleep = ring_.control().writer_sleeps;
  if (asleep.load(std::memory_order_relaxed) != 0 && asleep.exchange(0) != 0) set_event(wake_event);
}

Inbox::Probe Inbox::probe(MessageHeader& header) {
  if (!posted_.empty()) return Probe::none;
  const std::size_t available = ring_.available();
  if (available == 0) return Probe::none;
  if (available > ring_data_bytes || available < sizeof header) return Probe::malformed;
  std::memcpy(&header, ring_.at(), sizeof header);
  probed_ = ring_.position();
  return Probe::message;
}

void Inbox::announce_sleep(bool asleep, bool listening) {
  if (!ring_) return;
  const bool awaits = !posted_.empty() || (listening && ring_.position() != probed_);
  if (asleep && !awaits) return;
  auto& word = ring_.control().reader_sleeps;
  if (asleep || word.load(std::memory_order_relaxed) != 0) word.store(asleep ? 1 : 0, std::memory_order_relaxed);
}

}  // namespace hocket::shm
