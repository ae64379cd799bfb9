#include "transports/shm/inbox.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/base/arithmetic.hpp"
#include "src/base/copy_bytes.hpp"
#include "src/base/copy_small.hpp"
#include "src/base/copy_streaming.hpp"
#include "src/base/fence.hpp"
#include "transports/shm/wake_word.hpp"

namespace hocket::shm {
namespace {

constexpr std::size_t piece_in_place_bytes = std::size_t{256} << 10;  // then the writer is asked whether it holds
constexpr std::size_t piece_by_kernel_bytes = std::size_t{2} << 20;  // the same of what the kernel reads into its place
constexpr std::size_t bytes_per_advance = std::size_t{1} << 20;      // then others have their turn

// Whether a message may begin with this word, which has come there.
bool is_beginning(std::uint64_t arrival, RingReader& ring) {
  const std::size_t least = (arrival & MessageHeader::untagged) != 0 ? slot_bytes : cache_line_bytes;
  const std::size_t available = ring.available(least);
  return (arrival & MessageHeader::present) != 0 && available >= least && available <= ring_data_bytes;
}

}  // namespace

void Inbox::abandon(const Status& why) {
  while (!posted_.empty()) take_posted().done(why);
}

// The writer is woken when a payload is not needed in its place any more, too.
inline void Inbox::give_back(int wake_event) {
  if (ring_.give_back() || took_from_place_) [[unlikely]]
    wake_writer(wake_event);
}

void Inbox::wake_writer(int wake_event) {
  took_from_place_ = false;
  full_fence();  // either the writer sees it, or we see that the writer sleeps
  auto& asleep = ring_.control().writer_sleeps;
  if (asleep.load(std::memory_order_relaxed) != 0) wake(asleep, wake_event);
}

// Takes the message that must come next, where all of it has come at once.
inline bool Inbox::take_whole(const Tag& tag, std::span<std::byte> to) {
  if (to.size() > piece_bytes) return false;
  const auto [arrival, header] = ring_.next();
  std::size_t header_bytes = sizeof(MessageHeader), bytes = bytes_in_ring(to.size());
  if (arrival == MessageHeader::word_of_untagged(to.size())) {
    if (!next_tag_.is(tag)) return false;
    next_tag_.pass();
    header_bytes = sizeof arrival;
    bytes = untagged_bytes_in_ring(to.size());
  } else {
    if (arrival != MessageHeader::word_of_whole(to.size())) return false;
    if (!is_tag(header + offsetof(MessageHeader, tag), tag)) return false;
    next_tag_.pass(tag);
  }
  copy_small(to.data(), header + header_bytes, to.size());
  ring_.skip(bytes);
  return true;
}

bool Inbox::take_at_once(const Tag& tag, std::span<std::byte> to, int wake_event) {
  if (!posted_.empty() || !take_whole(tag, to)) return false;
  give_back(wake_event);
  return true;
}

Inbox::Received Inbox::advance(int wake_event) {
  Received received;
  while (!posted_.empty() && received.bytes < bytes_per_advance) {
    const PostedReceive& front = posted_.front();
    const bool is_plain = !in_message_ && !front.reduction.combines();
    const std::uint64_t before = ring_.position();
    if (is_plain && take_whole(front.expected.tag, {front.to.data, front.to.bytes})) {
      received.bytes += ring_.position() - before;
      complete(received);
      continue;
    }
    if (!in_message_ && !begin(received)) break;
    if (got_ < front.to.bytes) {
      if (!(in_place_ ? take_from_place(received) : take_from_ring(received))) break;
      if (got_ < front.to.bytes) {
        if (!in_place_) give_back(wake_event);
        continue;
      }
    }
    if (in_place_) ring_.skip(sizeof place_);
    took_from_place_ |= in_place_;
    ring_.align(unit_);
    in_message_ = false;
    got_ = 0;
    complete(received);
  }
  if (received.bytes > 0) give_back(wake_event);
  return received;
}

// The completion of the front receive, which is posted no more.
Completion& Inbox::take_posted() {
  const PostedReceive& front = posted_.front();
  Completion& completion = *front.completion;
  if (front.to.bytes >= in_place_bytes_min) --long_receives_;
  posted_.pop_front();
  return completion;
}

// The front receive has what it wants.
void Inbox::complete(Received& received) {
  ++received.completed;
  take_posted().done(Status());
}

// Takes the next header. False: there is none, or it is not the one that must come.
bool Inbox::begin(Received& received) {
  const std::uint64_t arrival = ring_.arrival();
  if (arrival == 0) return false;
  if (!is_beginning(arrival, ring_)) {
    received.event = Event::malformed;
    return false;
  }
  const std::size_t header_bytes = read_header(arrival, header_);
  if (std::memcmp(&header_, &posted_.front().expected, sizeof header_) != 0) {
    received.event = Event::mismatch;
    return false;
  }
  in_place_ = (arrival & MessageHeader::in_place) != 0;
  unit_ = header_bytes < sizeof header_ ? slot_bytes : cache_line_bytes;
  next_tag_.pass(header_.tag);
  ring_.skip(header_bytes);
  if (in_place_) std::memcpy(&place_, ring_.at(), sizeof place_);
  if (in_place_ && place_.is_plain() && !can_read_writer_) {
    received.event = Event::malformed;
    return false;
  }
  if (!in_place_ && header_.bytes >= in_place_bytes_min_of_two) answer_writer();
  received.bytes += header_bytes;
  in_message_ = true;
  return true;
}

// Takes a piece of the payload out of the ring, whole elements only. False: not even one is there.
bool Inbox::take_from_ring(Received& received) {
  const PostedReceive& front = posted_.front();
  const std::size_t missing = front.to.bytes - got_, available = ring_.available(missing);
  if (available > ring_data_bytes) {
    received.event = Event::malformed;
    return false;
  }
  std::size_t bytes = std::min({available, missing, piece_bytes});
  if (front.reduction.combines()) bytes = round_down(bytes, front.reduction.element_bytes);
  if (bytes == 0) return false;
  put(ring_.at(), bytes);
  ring_.skip(bytes);
  received.bytes += bytes;
  return true;
}

// Takes a piece of the payload from where it has stayed. False: it is not there any more, which the sender or its end
// explains on the socket, or it cannot be reached from here.
bool Inbox::take_from_place(Received& received) {
  const std::size_t before = got_;
  if (is_withdrawn() || !(place_.is_plain() ? take_plain(received) : take_registered(received))) return false;
  received.bytes += got_ - before;
  return true;
}

// What is missing of the payload, at most `bytes` of it, in whole elements.
std::size_t Inbox::next_piece(std::size_t bytes) const {
  const PostedReceive& front = posted_.front();
  const std::size_t element = front.reduction.element_bytes;
  return std::min(front.to.bytes - got_, std::max(round_down(bytes, element), element));
}

// A function of the caller's is not given what may change meanwhile.
bool Inbox::take_registered(Received& received) {
  const std::size_t bytes = next_piece(piece_in_place_bytes);
  const std::byte* from = payloads_ != nullptr ? payloads_->find(peer_, place_, got_, bytes) : nullptr;
  if (from == nullptr) {
    received.event = Event::unknown;
    return false;
  }
  const bool copies = posted_.front().reduction.custom != nullptr;
  if (copies) {
    copied_.assign(from, from + bytes);
    from = copied_.data();
  } else {
    put(from, bytes);
  }
  full_fence();  // what was read, was read before this look
  if (is_withdrawn()) return false;
  if (copies) put(from, bytes);
  return true;
}

// The kernel reads it to where the receive wants it, or beside that where it is to be combined.
bool Inbox::take_plain(Received& received) {
  const PostedReceive& front = posted_.front();
  const bool combines = front.reduction.combines();
  const std::size_t bytes = next_piece(combines ? piece_in_place_bytes : piece_by_kernel_bytes);
  if (!can_read_writer_) return false;
  if (combines) copied_.resize(bytes);
  std::byte* const to = combines ? copied_.data() : front.to.data + got_;
  const Status read = writer_.read(place_.offset + got_, to, bytes);
  full_fence();  // what was read, was read before this look
  if (is_withdrawn()) return false;
  if (read.code() == Code::peer_lost) forget_writer();
  if (read.code() == Code::invalid_argument) {
    received.event = Event::unreadable;
    why_unreadable_ = read.message();
  }
  if (!read.ok()) return false;
  if (combines) {
    put(to, bytes);
  } else {
    got_ += bytes;
  }
  return true;
}

// A writer that has a long message may ask whether its plain memory can be read.
void Inbox::answer_writer() {
  RingControl& control = ring_.control();
  if (answered_ || control.writer.secret == 0) return;
  answered_ = true;
  can_read_writer_ = may_read_ && writer_.probe(control.writer);
  if (can_read_writer_) control.reader_reads = 1;
}

// Where the receive wants it.
void Inbox::put(const std::byte* from, std::size_t bytes) {
  const PostedReceive& front = posted_.front();
  if (!front.reduction.combines()) {
    std::byte* const to = front.to.data + got_;
    front.past_caches ? copy_streaming(to, from, bytes) : copy_bytes(to, from, bytes);
  } else {
    front.reduction.combine_part(front.to.data, front.mine, got_, from, bytes);
  }
  got_ += bytes;
}

// The header that begins with this word. Returns how many bytes it has in the ring.
std::size_t Inbox::read_header(std::uint64_t arrival, MessageHeader& header) const {
  const bool has_tag = (arrival & MessageHeader::untagged) == 0;
  if (has_tag) {
    std::memcpy(&header, ring_.at(), sizeof header);
  } else {
    header.tag = next_tag_.get();
  }
  header.bytes = arrival & ~MessageHeader::flags;
  return has_tag ? sizeof header : sizeof header.bytes;
}

Inbox::Probe Inbox::probe(MessageHeader& header) {
  const std::uint64_t arrival = ring_.arrival();
  if (!posted_.empty() || arrival == 0) return Probe::none;
  if (!is_beginning(arrival, ring_)) return Probe::malformed;
  read_header(arrival, header);
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
