#include "transports/tcp/frame_parser.hpp"

#include <cstring>
#include <utility>

namespace hocket::tcp {

std::span<std::byte> FrameParser::wanted() {
  switch (place_) {
    case Place::header: return std::span(header_).subspan(have_);
    case Place::message: return {};
    case Place::cause: return std::span(cause_bytes_).subspan(cause_have_);
  }
  return {};
}

void FrameParser::took(std::size_t bytes) {
  (in_cause() ? cause_have_ : have_) += bytes;
}

// The array's own == goes byte by byte.
bool FrameParser::matches(const Frame& expected) {
  if (in_message()) return true;
  if (place_ != Place::header || !has_header()) return false;
  if (std::memcmp(header_.data(), expected.data(), expected.size()) != 0) return false;
  place_ = Place::message;
  return true;
}

FrameParser::Event FrameParser::next(const Frame* expected) {
  if (in_message()) return Event::expected;
  if (!has_header()) return Event::none;
  if (expected != nullptr && matches(*expected)) return Event::expected;
  return in_cause() ? judge_cause() : judge();
}

// What a complete header means that is not the expected one.
FrameParser::Event FrameParser::judge() {
  auto header = parse_header(header_);
  if (!header) {
    problem_ = header.status();
    return Event::malformed;
  }
  switch (header->kind) {
    case FrameKind::message: return Event::message;
    case FrameKind::goodbye: return Event::goodbye;
    case FrameKind::waiting:
      waiting_ = waiting_of(*header);
      have_ = 0;
      return Event::waiting;
    case FrameKind::cause: break;
  }
  place_ = Place::cause;
  cause_bytes_.resize(header->bytes);  // parse_header() bounds it
  return judge_cause();
}

FrameParser::Event FrameParser::judge_cause() {
  if (cause_have_ < cause_bytes_.size()) return Event::none;
  if (!cause_) cause_ = parse_cause(cause_bytes_);
  if (cause_) return Event::cause;
  problem_ = Status(Code::protocol_error, "a cause is malformed");
  return Event::malformed;
}

void FrameParser::end_message() {
  place_ = Place::header;
  header_ = next_header_;
  have_ = std::exchange(next_have_, 0);
}

}  // namespace hocket::tcp
