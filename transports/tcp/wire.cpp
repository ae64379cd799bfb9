#include "transports/tcp/wire.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "transports/tcp/little_endian.hpp"

namespace hocket::tcp {
namespace {

constexpr std::uint16_t header_magic = 0x4b48;     // "HK"
constexpr std::uint32_t hello_magic = 0x544b4348;  // "HCKT"
using Unused = std::array<std::byte, 6>;
constexpr Unused unused{};                     // ends a header
constexpr std::size_t cause_fixed_bytes = 32;  // of a cause's payload, without its two texts

Status nonsense(std::string message) {
  return Status(Code::protocol_error, std::move(message));
}

bool is_failure(std::uint32_t code) {
  return code > static_cast<std::uint32_t>(Code::in_progress) && code <= static_cast<std::uint32_t>(Code::internal);
}

// Text from elsewhere must not steer a terminal.
std::string printable(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (const std::byte byte : bytes) {
    const auto c = static_cast<unsigned char>(byte);
    text += c < 0x20 || c == 0x7f ? '?' : static_cast<char>(c);
  }
  return text;
}

}  // namespace

Share share_of(std::size_t message_bytes, StreamNumber stream) {
  if (!is_striped(message_bytes, stream.of)) return {0, stream.index == 0 ? message_bytes : 0};
  const std::size_t even = (message_bytes + stream.of - 1) / stream.of;
  const std::size_t each = (even + share_alignment - 1) / share_alignment * share_alignment;
  const std::size_t begin = std::min(message_bytes, stream.index * each);
  return {begin, std::min(message_bytes - begin, each)};
}

Frame encode(const Header& header) {
  Frame frame;
  Writer to(frame.data());
  to.put(header_magic);
  to.put(wire_version);
  to.put(header.kind);
  to.put(header.tag.communicator);
  to.put(header.tag.sequence);
  to.put(header.bytes);
  const Signature& call = header.tag.call;
  to.put(call.collective);
  to.put(call.dtype);
  to.put(call.op);
  to.put(call.algorithm);
  to.put(call.root);
  to.put(call.count);
  to.put(call.element_bytes);
  to.put(unused);
  return frame;
}

Result<Header> parse_header(std::span<const std::byte, header_bytes> bytes) {
  Reader from(bytes);
  if (from.take<std::uint16_t>() != header_magic) return nonsense("a frame does not begin with Hocket's magic number");
  if (const auto version = from.take<std::uint8_t>(); version != wire_version) {
    return nonsense(fmt::format("a frame has wire version {}, not {}", version, wire_version));
  }
  Header header;
  header.kind = static_cast<FrameKind>(from.take<std::uint8_t>());
  header.tag.communicator = from.take<std::uint32_t>();
  header.tag.sequence = from.take<std::uint32_t>();
  header.bytes = from.take<std::uint32_t>();
  Signature& call = header.tag.call;
  call.collective = static_cast<Collective>(from.take<std::uint8_t>());
  call.dtype = static_cast<DataType>(from.take<std::uint8_t>());
  call.op = static_cast<ReduceOp>(from.take<std::uint8_t>());
  call.algorithm = from.take<std::uint8_t>();
  call.root = from.take<Rank>();
  call.count = from.take<std::uint64_t>();
  call.element_bytes = from.take<std::uint16_t>();
  const bool clean = from.take<Unused>() == unused;
  switch (header.kind) {
    case FrameKind::message: break;
    case FrameKind::cause:
      if (header.bytes > cause_bytes_max) return nonsense(fmt::format("a cause of {} bytes is too long", header.bytes));
      break;
    case FrameKind::goodbye:
    case FrameKind::waiting:
      if (header.bytes != 0) return nonsense("a goodbye or a waiting has a payload");
      break;
    default: return nonsense(fmt::format("a frame has the unknown kind {}", static_cast<int>(header.kind)));
  }
  if (!is_known(call.collective)) return nonsense("a frame names an unknown collective");
  if (!is_known(call.dtype)) return nonsense("a frame names an unknown dtype");
  const bool opaque = call.dtype == DataType::opaque;
  if (opaque != (call.element_bytes != 0) || call.element_bytes > element_bytes_max) {
    return nonsense(fmt::format("a frame names elements of {} bytes", call.element_bytes));
  }
  if (!clean) return nonsense("a frame has something where nothing belongs");
  if (!is_known(call.op)) return nonsense("a frame names an unknown reduction");
  if (call.root < no_rank) return nonsense("a frame names a negative root");
  return header;
}

HelloFrame encode(const Hello& hello) {
  HelloFrame frame;
  Writer to(frame.data());
  to.put(hello_magic);
  to.put(wire_version);
  to.put(hello.kind);
  to.put(std::uint16_t{0});
  to.put(hello.group);
  to.put(hello.from);
  to.put(hello.to);
  to.put(hello.stream.index);
  to.put(hello.stream.of);
  return frame;
}

Result<Hello> parse_hello(std::span<const std::byte, hello_bytes> bytes) {
  Reader from(bytes);
  if (from.take<std::uint32_t>() != hello_magic) return nonsense("it does not speak Hocket's protocol");
  if (const auto version = from.take<std::uint8_t>(); version != wire_version) {
    return nonsense(fmt::format("it speaks wire version {}, not {}: use one version of Hocket on all ranks", version,
                                wire_version));
  }
  Hello hello;
  hello.kind = static_cast<HelloKind>(from.take<std::uint8_t>());
  const auto authentication = from.take<std::uint16_t>();
  hello.group = from.take<std::uint64_t>();
  hello.from = from.take<Rank>();
  hello.to = from.take<Rank>();
  hello.stream.index = from.take<std::uint16_t>();
  hello.stream.of = from.take<std::uint16_t>();
  if (hello.kind != HelloKind::hello && hello.kind != HelloKind::welcome) return nonsense("its greeting has no kind");
  if (authentication != 0) return nonsense("it wants authentication, which this version of Hocket does not have");
  if (hello.from < 0 || hello.to < 0) return nonsense("its greeting names a negative rank");
  if (hello.stream.of > streams_max || hello.stream.index >= hello.stream.of) {
    return nonsense(fmt::format("its greeting is for stream {} of {}", hello.stream.index, hello.stream.of));
  }
  return hello;
}

std::vector<std::byte> encode_cause(const Cause& cause) {
  const auto operation = std::string_view(cause.operation).substr(0, 64);
  const auto message =
      std::string_view(cause.message).substr(0, cause_bytes_max - cause_fixed_bytes - operation.size());
  const std::size_t payload = cause_fixed_bytes + operation.size() + message.size();
  std::vector<std::byte> frame(header_bytes + payload);
  const Frame header =
      encode(Header{.kind = FrameKind::cause, .tag = {}, .bytes = static_cast<std::uint32_t>(payload)});
  std::copy(header.begin(), header.end(), frame.begin());
  Writer to(frame.data() + header_bytes);
  to.put(static_cast<std::uint32_t>(cause.code));
  to.put(cause.rank);
  to.put(cause.peer);
  to.put(cause.sequence);
  to.put(cause.elapsed_seconds);
  to.put(static_cast<std::uint16_t>(operation.size()));
  to.put(static_cast<std::uint16_t>(message.size()));
  to.put_bytes(operation);
  to.put_bytes(message);
  return frame;
}

std::optional<Cause> parse_cause(std::span<const std::byte> payload) {
  Reader from(payload);
  Cause cause;
  const auto code = from.take<std::uint32_t>();
  cause.rank = from.take<Rank>();
  cause.peer = from.take<Rank>();
  cause.sequence = from.take<std::uint64_t>();
  cause.elapsed_seconds = from.take<double>();
  const auto operation = from.take<std::uint16_t>();
  const auto message = from.take<std::uint16_t>();
  cause.operation = printable(from.take_bytes(operation));
  cause.message = printable(from.take_bytes(message));
  if (!from.ok() || from.left() != 0 || !is_failure(code)) return std::nullopt;
  cause.code = static_cast<Code>(code);
  return cause;
}

}  // namespace hocket::tcp
