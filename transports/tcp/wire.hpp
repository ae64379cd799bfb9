// What travels on a connection. A connection begins with a hello from the side that dialled and a welcome from the
// other one, where there is a secret with a challenge and a proof between them; then both sides send frames: a header
// of 48 bytes and its payload. Numbers are little-endian. Parsing is
// pure and trusts nothing. docs/internals/wire.md has the layouts.
//
// A link is one stream or several. A large message is cut into as many shares as there are streams; the header goes out
// on every stream, each followed by that stream's share (share_of()). A small one is on stream 0 alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/base/challenge.hpp"
#include "src/spi/transport.hpp"

namespace hocket::tcp {

inline constexpr std::uint8_t wire_version = 5;
inline constexpr std::size_t header_bytes = 16 + sizeof(Signature);
static_assert(header_bytes == 48);
inline constexpr std::size_t hello_bytes = 28;
inline constexpr std::size_t cause_bytes_max = 4096;
inline constexpr std::uint16_t streams_max = 16;
inline constexpr std::size_t striped_bytes_min = std::size_t{64} << 10;  // smaller messages are not cut

// Which of a link's streams a connection is.
struct StreamNumber {
  std::uint16_t index = 0;
  std::uint16_t of = 1;

  friend bool operator==(const StreamNumber&, const StreamNumber&) = default;
};

constexpr bool is_striped(std::size_t message_bytes, std::uint16_t streams) {
  return streams > 1 && message_bytes >= striped_bytes_min;
}

// The part of a message that one stream carries.
struct Share {
  std::size_t begin = 0;
  std::size_t bytes = 0;
};
// Shares begin at multiples of `share_alignment`, so that elements of any type stay whole.
inline constexpr std::size_t share_alignment = 4096;
Share share_of(std::size_t message_bytes, StreamNumber stream);

using Frame = std::array<std::byte, header_bytes>;
using HelloFrame = std::array<std::byte, hello_bytes>;

enum class FrameKind : std::uint8_t {
  message = 1,  // payload: the message
  cause = 2,    // the sender's link is broken; payload: why, as encode_cause() writes it; nothing follows
  goodbye = 3,  // the sender leaves in good order; no payload; nothing follows
  waiting = 4,  // the sender waits in the operation of the tag; no payload, but two ranks in place of its size
};

struct Header {
  FrameKind kind = FrameKind::message;
  Tag tag{};
  std::uint32_t bytes = 0;

  friend bool operator==(const Header&, const Header&) = default;
};

Frame encode(const Header& header);
// Of a waiting frame. Ranks from 65,535 on are not told.
Header header_of(const Waiting& what);
Waiting waiting_of(const Header& header);
// Code::protocol_error says which field is wrong: magic, version, kind, a field of the call, or a size that its kind
// cannot have.
Result<Header> parse_header(std::span<const std::byte, header_bytes> bytes);
// How many bytes follow the header on its stream.
std::size_t payload_bytes(const Header& header, StreamNumber stream);

enum class HelloKind : std::uint8_t {
  hello = 1,  // from the side that dials; where it has a secret, its number follows
  welcome,    // from the side that answers: it lets the other one in
  challenge,  // from the side that answers: its number and its proof follow
  proof,      // from the side that dials: its proof follows
  refusal,    // from either, in place of any but the first; the number of a Distrust follows
};

struct Hello {
  HelloKind kind = HelloKind::hello;
  std::uint64_t group = 0;
  Rank from = no_rank;
  Rank to = no_rank;
  StreamNumber stream{};
  std::uint16_t authentication = 0;  // bytes that follow

  friend bool operator==(const Hello&, const Hello&) = default;
};
inline constexpr std::size_t authentication_bytes_max = Challenge::nonce_bytes + Challenge::proof_bytes;

HelloFrame encode(const Hello& hello);
// Code::protocol_error says what is wrong. Whether group and ranks are the right ones is the caller's to check.
Result<Hello> parse_hello(std::span<const std::byte, hello_bytes> bytes);

// A whole cause frame, header and payload; empty at first. It lies in itself, so that none needs memory to be said.
struct CauseFrame {
  std::array<std::byte, header_bytes + cause_bytes_max> bytes;
  std::size_t length = 0;

  const std::byte* data() const { return bytes.data(); }
  std::size_t size() const { return length; }
  const std::byte* begin() const { return data(); }
  const std::byte* end() const { return data() + length; }
};

// A message that is too long is cut.
CauseFrame encode_cause(const Cause& cause);
// The payload of a cause frame; nothing where it is malformed. Control characters in its texts become '?'.
std::optional<Cause> parse_cause(std::span<const std::byte> payload);

}  // namespace hocket::tcp
