#include "transports/tcp/message_reader.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace hocket::tcp {
namespace {

constexpr std::size_t small_bytes_max = std::size_t{8} << 10;  // of payload
// A few of the longest: what comes behind may be part of a large message, and is copied once more than it need be.
constexpr std::size_t read_together_bytes = std::size_t{32} << 10;

}  // namespace

// ---- bytes that came too early --------------------------------------------------------------------------------------

void MessageReader::Kept::append(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  if (bytes.size() > room_ - end_ && at_ > room_ / 2) {  // most of it has been taken
    std::memmove(memory_.get(), memory_.get() + at_, end_ - at_);
    end_ -= std::exchange(at_, 0);
  }
  if (bytes.size() > room_ - end_) {
    const std::size_t room = std::max(2 * room_, end_ + bytes.size());
    void* const memory = std::realloc(memory_.get(), room);
    if (memory == nullptr) throw std::bad_alloc();
    (void)memory_.release();
    memory_.reset(static_cast<std::byte*>(memory));
    room_ = room;
  }
  std::memcpy(memory_.get() + end_, bytes.data(), bytes.size());
  end_ += bytes.size();
}

void MessageReader::Kept::put_back(std::span<const std::byte> first, std::span<const std::byte> second) {
  const std::size_t before = end_ - at_;
  append(first);
  append(second);
  if (empty()) return;
  std::byte* const begin = memory_.get() + at_;
  std::rotate(begin, begin + before, memory_.get() + end_);
}

std::size_t MessageReader::Kept::take(std::span<const iovec> parts) {
  std::size_t taken = 0;
  for (const iovec& part : parts) {
    const std::size_t bytes = std::min(part.iov_len, end_ - at_);
    if (bytes > 0) std::memcpy(part.iov_base, memory_.get() + at_, bytes);
    at_ += bytes;
    taken += bytes;
  }
  if (empty()) at_ = end_ = 0;
  return taken;
}

void MessageReader::Kept::erase(std::size_t from, std::size_t bytes) {
  std::byte* const first = memory_.get() + at_ + from;
  std::memmove(first, first + bytes, end_ - at_ - from - bytes);
  end_ -= bytes;
}

// ---- receives -------------------------------------------------------------------------------------------------------

void MessageReader::abandon(const Status& why) {
  if (!posted_.empty() && parser_.in_message()) skip_ = target_.missing(posted_.front());
  target_.reset();
  skips_ = true;
  for (; !posted_.empty(); posted_.pop_front()) posted_.front().completion->done(why);
}

MessageReader::Event MessageReader::settle(std::span<std::byte> staging, std::size_t& completed) {
  heard_ = 0;
  while (true) {
    switch (parser_.next(posted_.empty() ? nullptr : &posted_.front().expected)) {
      case FrameParser::Event::none: break;
      case FrameParser::Event::expected:
        if (skips_) {
          if (skip_ > 0) break;
          parser_.end_message();
          continue;
        }
        if (target_.missing(posted_.front()) > 0) break;
        finish(completed);
        continue;
      case FrameParser::Event::message:
        if (!skips_) return unexpected() ? Event::none : Event::mismatch;
        skip();
        continue;
      case FrameParser::Event::waiting: waiting_ = parser_.waiting(); continue;
      case FrameParser::Event::goodbye: return Event::goodbye;
      case FrameParser::Event::cause: return Event::cause;
      case FrameParser::Event::malformed: return Event::malformed;
    }
    if (kept_.empty()) return Event::none;
    const auto next = parts(staging);
    took(kept_.take(next));
  }
}

void MessageReader::finish(std::size_t& completed) {
  Completion* const completion = posted_.front().completion;
  posted_.pop_front();
  parser_.end_message();
  target_.reset();
  ++completed;
  completion->done(Status());
}

// The message that has begun.
void MessageReader::skip() {
  skip_ = payload_bytes(*parse_header(parser_.header()), stream_);
  parser_.begin_message();
}

// ---- where bytes go -------------------------------------------------------------------------------------------------

// A small message that nothing has come of yet is read in one piece, and reduced where it was read. What has come
// behind it is read with it, so that a peer that runs ahead does not cost a system call for each message.
bool MessageReader::reads_small(std::span<std::byte> staging) const {
  if (posted_.size() != 1 || !parser_.at_start() || !kept_.empty()) return false;
  const std::size_t bytes = posted_.front().to.bytes;
  return bytes <= small_bytes_max && header_bytes + bytes <= staging.size();
}

// The header's rest, the payload's, and the next header if nothing else can follow.
std::span<const iovec> MessageReader::parts(std::span<std::byte> staging) {
  staging_ = staging;
  area_ = {};
  std::size_t count = 0;
  const auto want = [&](std::span<std::byte> bytes) {
    if (!bytes.empty()) parts_[count++] = {bytes.data(), bytes.size()};
  };
  small_offered_ = reads_small(staging);
  if (skip_ > 0) {
    want(staging.first(std::min(skip_, staging.size())));
  } else if (small_offered_) {
    want(staging.first(std::min(read_together_bytes, staging.size())));
  } else {
    want(parser_.wanted());
    if (!posted_.empty() && !parser_.in_cause()) {
      area_ = target_.area(posted_.front(), staging);
      want(area_);
      if (posted_.size() > 1 && area_.size() == target_.missing(posted_.front())) want(parser_.wanted_after());
    }
  }
  return std::span(parts_).first(count);
}

void MessageReader::took(std::size_t bytes) {
  if (skip_ > 0) {
    skip_ -= bytes;
    return;
  }
  if (small_offered_) return took_small(bytes);
  const std::size_t of_frame = std::min(bytes, parser_.wanted().size());
  parser_.took(of_frame);
  bytes -= of_frame;
  if (bytes == 0) return;
  const std::size_t of_payload = std::min(bytes, area_.size());
  const std::size_t of_next = bytes - of_payload;
  if (parser_.matches(posted_.front().expected)) {
    target_.absorb(posted_.front(), of_payload, staging_);
    parser_.took_after(of_next);
  } else {  // something else came: its bytes are not this receive's
    kept_.put_back(area_.first(of_payload), parser_.wanted_after().first(of_next));
  }
}

// Anything but the whole message goes the usual way, and so does what follows it.
void MessageReader::took_small(std::size_t bytes) {
  const PostedReceive& front = posted_.front();
  const std::size_t whole = header_bytes + front.to.bytes;
  if (bytes < whole || std::memcmp(staging_.data(), front.expected.data(), header_bytes) != 0) {
    kept_.append(staging_.first(bytes));
    return;
  }
  read_small_ = true;
  parser_.begin_message();
  target_.absorb_whole(front, staging_.data() + header_bytes);
  kept_.append(staging_.first(bytes).subspan(whole));
}

// ---- what is to come ------------------------------------------------------------------------------------------------

void MessageReader::hear_behind() {
  if (heard_ == 0) {
    const auto first = parse_header(parser_.header());
    if (!first) return;
    heard_ = payload_bytes(*first, stream_);
  }
  while (kept_.bytes().size() >= heard_ + header_bytes) {
    const auto header = parse_header(kept_.bytes().subspan(heard_).first<header_bytes>());
    if (!header) return;
    if (header->kind == FrameKind::waiting) {
      waiting_ = waiting_of(*header);
      kept_.erase(heard_, header_bytes);  // it is not to be heard again later, when it is old
    } else {
      heard_ += header_bytes + payload_bytes(*header, stream_);
    }
  }
}

MessageReader::Event MessageReader::peek_end() {
  std::span<const std::byte> left = kept_.bytes();
  Frame frame = parser_.header();
  while (true) {
    const auto header = parse_header(frame);
    if (!header) {
      foreseen_problem_ = header.status();
      return Event::malformed;
    }
    if (header->kind == FrameKind::goodbye) return Event::goodbye;
    const std::size_t follows = payload_bytes(*header, stream_);
    if (left.size() < follows) return Event::none;
    if (header->kind == FrameKind::cause) {
      cause_ = parse_cause(left.first(follows));
      if (cause_) return Event::cause;
      foreseen_problem_ = Status(Code::protocol_error, "a cause is malformed");
      return Event::malformed;
    }
    left = left.subspan(follows);
    if (left.size() < header_bytes) return Event::none;
    std::copy_n(left.begin(), header_bytes, frame.begin());
    left = left.subspan(header_bytes);
  }
}

}  // namespace hocket::tcp
