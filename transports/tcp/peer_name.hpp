// PeerName: who the peer of a link is, and what is said of it when the link ends.
#pragma once

#include <string>

#include "src/spi/transport.hpp"
#include "transports/tcp/message_reader.hpp"

namespace hocket::tcp {

struct PeerName {
  Rank self = no_rank;  // this rank
  Rank peer = no_rank;
  std::string address = {};  // "10.0.0.1:4000", once it is known

  // "rank 2 (10.0.0.1:4000)", as far as known.
  std::string text() const;

  Status closed() const;
  // In good order.
  Status left() const;
  // `error`: an errno, 0 where the connection ended without goodbye.
  Status lost(int error) const;
  // What it sent is not Hocket's protocol.
  Status malformed(const Status& problem) const;
  // The message that came is not the one that was expected.
  Status mismatch(const MessageReader& messages, const TransportListener& names) const;

 private:
  Status cause(Code code, std::string message) const;
  Status gone(std::string message, bool ended) const;
};

}  // namespace hocket::tcp
