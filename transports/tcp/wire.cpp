#include "transports/tcp/wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "src/base/bytes.hpp"
#include "src/base/failure_code.hpp"
#include "src/base/printable.hpp"

namespace hocket::tcp {
namespace {

constexpr std::uint16_t header_magic = 0x4b48;     // "HK"
constexpr std::uint32_t hello_magic = 0x544b4348;  // "HCKT"
constexpr std::uint32_t rank_untold = 0xffff;      // in two bytes
constexpr std::size_t cause_fixed_bytes = 32;      // of a cause's payload, without its two texts

Status malformed(std::string message) {
  return Status(Code::protocol_error, std::move(message));
}

// Whether the fields of a call hold what they can hold.
Status check_signature(const Signature& call) {
  if (static_cast<std::uint8_t>(call.kind) >= signature_kinds)
    return malformed("a frame names an unknown kind of call");
  if (!is_known(call.collective)) return malformed("a frame names an unknown collective");
  const bool fits = call.kind == SignatureKind::send      ? call.collective == Collective::send
                    : call.kind == SignatureKind::receive ? call.collective == Collective::recv
                                                          : !info_of(call.collective).is_message();
  if (!fits) return malformed("a frame names a collective that is not of its kind of call");
  if (!is_known(call.dtype)) return malformed("a frame names an unknown dtype");
  if (!is_known(call.op)) return malformed("a frame names an unknown reduction");
  if (!is_known(call.wire)) return malformed("a frame names an unknown wire format");
  const bool opaque = call.dtype == DataType::opaque;
  if (opaque != (call.opaque_bytes != 0) || call.opaque_bytes > element_bytes_max) {
    return malformed(fmt::format("a frame names elements of {} bytes", call.opaque_bytes));
  }
  if (call.reserved != 0) return malformed("a frame has something where nothing belongs");
  if (call.root < 0) return malformed("a frame names a negative root");
  return {};
}

bool fits(HelloKind kind, std::uint16_t authentication) {
  switch (kind) {
    case HelloKind::hello: return authentication == 0 || authentication == Challenge::nonce_bytes;
    case HelloKind::welcome: return authentication == 0;
    case HelloKind::challenge: return authentication == authentication_bytes_max;
    case HelloKind::proof: return authentication == Challenge::proof_bytes;
    case HelloKind::refusal: return authentication == sizeof(Distrust);
  }
  return false;
}

}  // namespace

Share share_of(std::size_t message_bytes, StreamNumber stream) {
  if (!is_striped(message_bytes, stream.of)) return {0, stream.index == 0 ? message_bytes : 0};
  const std::size_t even = (message_bytes + stream.of - 1) / stream.of;
  const std::size_t each = (even + share_alignment - 1) / share_alignment * share_alignment;
  const std::size_t begin = std::min(message_bytes, stream.index * each);
  return {begin, std::min(message_bytes - begin, each)};
}

std::size_t payload_bytes(const Header& header, StreamNumber stream) {
  switch (header.kind) {
    case FrameKind::message: return share_of(header.bytes, stream).bytes;
    case FrameKind::cause: return header.bytes;
    case FrameKind::goodbye:
    case FrameKind::waiting: break;
  }
  return 0;
}

Frame encode(const Header& header) {
  Frame frame;
  ByteWriter to(frame.data());
  to.put(header_magic);
  to.put(wire_version);
  to.put(header.kind);
  to.put(header.tag.communicator);
  to.put(header.tag.sequence);
  to.put(header.bytes);
  to.put(header.tag.call);
  return frame;
}

Result<Header> parse_header(std::span<const std::byte, header_bytes> bytes) {
  ByteReader from(bytes);
  if (from.take<std::uint16_t>() != header_magic) return malformed("a frame does not begin with Hocket's magic number");
  if (const auto version = from.take<std::uint8_t>(); version != wire_version) {
    return malformed(fmt::format("a frame has wire version {}, not {}", version, wire_version));
  }
  Header header;
  header.kind = static_cast<FrameKind>(from.take<std::uint8_t>());
  header.tag.communicator = from.take<std::uint32_t>();
  header.tag.sequence = from.take<std::uint32_t>();
  header.bytes = from.take<std::uint32_t>();
  header.tag.call = from.take<Signature>();
  switch (header.kind) {
    case FrameKind::message: break;
    case FrameKind::cause:
      if (header.bytes > cause_bytes_max)
        return malformed(fmt::format("a cause of {} bytes is too long", header.bytes));
      break;
    case FrameKind::goodbye:
      if (header.bytes != 0) return malformed("a goodbye has a payload");
      break;
    case FrameKind::waiting: break;
    default: return malformed(fmt::format("a frame has the unknown kind {}", static_cast<int>(header.kind)));
  }
  if (Status sound = check_signature(header.tag.call); !sound.ok()) return sound;
  return header;
}

Header header_of(const Waiting& what) {
  constexpr auto short_rank = [](Rank rank) {
    const auto number = static_cast<std::uint32_t>(rank);
    return number < rank_untold ? number : rank_untold;
  };
  return {
      .kind = FrameKind::waiting, .tag = what.tag, .bytes = short_rank(what.missing) | short_rank(what.witness) << 16};
}

Waiting waiting_of(const Header& header) {
  constexpr auto long_rank = [](std::uint32_t rank) { return rank == rank_untold ? no_rank : static_cast<Rank>(rank); };
  return {.tag = header.tag, .missing = long_rank(header.bytes & 0xffff), .witness = long_rank(header.bytes >> 16)};
}

HelloFrame encode(const Hello& hello) {
  HelloFrame frame;
  ByteWriter to(frame.data());
  to.put(hello_magic);
  to.put(wire_version);
  to.put(hello.kind);
  to.put(hello.authentication);
  to.put(hello.group);
  to.put(hello.from);
  to.put(hello.to);
  to.put(hello.stream.index);
  to.put(hello.stream.of);
  return frame;
}

Result<Hello> parse_hello(std::span<const std::byte, hello_bytes> bytes) {
  ByteReader from(bytes);
  if (from.take<std::uint32_t>() != hello_magic) return malformed("it does not speak Hocket's protocol");
  if (const auto version = from.take<std::uint8_t>(); version != wire_version) {
    return malformed(fmt::format("it speaks wire version {}, not {}: use one version of Hocket on all ranks", version,
                                 wire_version));
  }
  Hello hello;
  hello.kind = static_cast<HelloKind>(from.take<std::uint8_t>());
  hello.authentication = from.take<std::uint16_t>();
  hello.group = from.take<std::uint64_t>();
  hello.from = from.take<Rank>();
  hello.to = from.take<Rank>();
  hello.stream.index = from.take<std::uint16_t>();
  hello.stream.of = from.take<std::uint16_t>();
  if (hello.kind < HelloKind::hello || hello.kind > HelloKind::refusal) return malformed("its greeting has no kind");
  if (!fits(hello.kind, hello.authentication)) return malformed("its greeting has a proof of a wrong length");
  if (hello.from < 0 || hello.to < 0) return malformed("its greeting names a negative rank");
  if (hello.stream.of > streams_max || hello.stream.index >= hello.stream.of) {
    return malformed(fmt::format("its greeting is for stream {} of {}", hello.stream.index, hello.stream.of));
  }
  return hello;
}

CauseFrame encode_cause(const Cause& cause) {
  const auto operation = std::string_view(cause.operation).substr(0, 64);
  const auto message =
      std::string_view(cause.message).substr(0, cause_bytes_max - cause_fixed_bytes - operation.size());
  const std::size_t payload = cause_fixed_bytes + operation.size() + message.size();
  CauseFrame frame;
  frame.length = header_bytes + payload;
  const Frame header =
      encode(Header{.kind = FrameKind::cause, .tag = {}, .bytes = static_cast<std::uint32_t>(payload)});
  std::copy(header.begin(), header.end(), frame.bytes.begin());
  ByteWriter to(frame.bytes.data() + header_bytes);
  to.put(static_cast<std::uint32_t>(cause.code));
  to.put(cause.rank);
  to.put(cause.peer);
  to.put(cause.sequence);
  to.put(cause.elapsed_seconds);
  to.put(static_cast<std::uint16_t>(operation.size()));
  to.put(static_cast<std::uint16_t>(message.size()));
  to.put_text(operation);
  to.put_text(message);
  return frame;
}

std::optional<Cause> parse_cause(std::span<const std::byte> payload) {
  ByteReader from(payload);
  Cause cause;
  const auto code = from.take<std::uint32_t>();
  cause.rank = from.take<Rank>();
  cause.peer = from.take<Rank>();
  cause.sequence = from.take<std::uint64_t>();
  cause.elapsed_seconds = from.take<double>();
  const auto operation = from.take<std::uint16_t>();
  const auto message = from.take<std::uint16_t>();
  cause.operation = printable(from.text(operation));
  cause.message = printable(from.text(message), 4096);
  if (!from.ok() || from.left() != 0 || !is_failure(code)) return std::nullopt;
  cause.code = static_cast<Code>(code);
  return cause;
}

}  // namespace hocket::tcp
