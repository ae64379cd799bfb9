// Names and ports to socket addresses, IPv4 and IPv6.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/spi/status.hpp"

namespace hocket::store {

struct Endpoint {
  sockaddr_storage address{};
  socklen_t bytes = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// All addresses of a name or of a number such as "127.0.0.1" or "::1", at least one. Code::store_unreachable, with the
// resolver's reason, where there is none or none is known by the deadline. (The resolver cannot be stopped: past the
// deadline it is left to finish on a thread of its own.)
Result<std::vector<Endpoint>> resolve(const std::string& host, std::uint16_t port, Deadline deadline);

// "127.0.0.1:29500", "[::1]:29500".
std::string host_and_port(const std::string& host, std::uint16_t port);

}  // namespace hocket::store
