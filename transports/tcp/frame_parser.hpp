// FrameParser: what the bytes of a connection mean, frame by frame (wire.hpp). Pure: it has no socket and no clock, and
// no size that a peer names makes it allocate.
//
// It has memory for headers and causes. The payload of a message is not its business: that goes straight to where it
// belongs. So that one system call can bring a header, a payload and the next header, there is memory for that one too.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "src/spi/transport.hpp"
#include "transports/tcp/wire.hpp"

namespace hocket::tcp {

class FrameParser {
 public:
  enum class Event {
    none,       // more bytes are wanted
    expected,   // the message that is expected has begun; this stands until end_message()
    message,    // another message has begun; this stands, too, and it may still be expected
    waiting,    // the peer waits: waiting()
    goodbye,    // the peer leaves
    cause,      // the peer's link is broken: take_cause()
    malformed,  // this is not Hocket's protocol: problem()
  };

  // Memory for the bytes that come next: what is missing of a header, or of a cause. Empty within a message.
  std::span<std::byte> wanted();
  void took(std::size_t bytes);
  // Memory for the header after the payload that comes next.
  std::span<std::byte> wanted_after() { return next_header_; }
  void took_after(std::size_t bytes) { next_have_ = bytes; }

  // What has come. Goodbye, cause and malformed are the last events.
  Event next(const Frame* expected);
  // Whether the message that has begun is this one, or that is known already.
  bool matches(const Frame& expected);
  // The expected message has begun: its header has come elsewhere.
  void begin_message() { place_ = Place::message; }
  // The payload of the expected message is complete.
  void end_message();

  bool at_start() const { return have_ == 0; }
  bool has_header() const { return have_ == header_bytes; }
  // Whether there is a header that next() has not taken for a message's or a cause's.
  bool awaits_judgement() const { return has_header() && place_ == Place::header; }
  bool in_message() const { return place_ == Place::message; }
  bool in_cause() const { return place_ == Place::cause; }
  const Frame& header() const { return header_; }
  const Waiting& waiting() const { return waiting_; }
  Cause take_cause() { return std::move(*cause_); }
  const Status& problem() const { return problem_; }

 private:
  enum class Place { header, message, cause };

  Event judge();
  Event judge_cause();

  Place place_ = Place::header;
  Frame header_{};
  std::size_t have_ = 0;  // bytes of it
  Frame next_header_{};
  std::size_t next_have_ = 0;
  std::vector<std::byte> cause_bytes_;  // at most cause_bytes_max
  std::size_t cause_have_ = 0;
  Waiting waiting_{};
  std::optional<Cause> cause_;
  Status problem_;
};

}  // namespace hocket::tcp
