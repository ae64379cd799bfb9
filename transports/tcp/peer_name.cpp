#include "transports/tcp/peer_name.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "src/base/mismatch.hpp"

namespace hocket::tcp {

std::string PeerName::text() const {
  return address.empty() ? fmt::format("rank {}", peer) : fmt::format("rank {} ({})", peer, address);
}

Status PeerName::cause(Code code, std::string message) const {
  return Status(Cause{.code = code, .message = std::move(message), .rank = self, .peer = peer});
}

Status PeerName::gone(std::string message, bool ended) const {
  return Status(
      Cause{.code = Code::peer_lost, .message = std::move(message), .rank = self, .peer = peer, .ended = ended});
}

Status PeerName::closed() const {
  return Status(Code::aborted, fmt::format("the link to {} is closed", text()));
}

Status PeerName::left() const {
  return gone(fmt::format("{} has left the group", text()), true);
}

Status PeerName::lost(int error) const {
  const std::string how =
      error == 0 ? "its connection ended without goodbye" : fmt::format("connection lost: {}", std::strerror(error));
  // The peer's kernel says so.
  const bool ended = error == 0 || error == ECONNRESET || error == EPIPE;
  return gone(fmt::format("{} is gone ({}): look at what that process printed last", text(), how), ended);
}

Status PeerName::malformed(const Status& problem) const {
  return cause(Code::protocol_error,
               fmt::format("{} does not keep to Hocket's protocol: {}", text(), problem.message()));
}

Status PeerName::mismatch(const MessageReader& messages, const TransportListener& names) const {
  const auto got = parse_header(messages.got());
  const auto expected = parse_header(messages.expected());
  if (!got || !expected) return Status(Code::mismatch, "a call cannot be expressed on the wire");
  return hocket::mismatch(self, peer, {got->tag, got->bytes}, {expected->tag, expected->bytes}, names);
}

}  // namespace hocket::tcp
