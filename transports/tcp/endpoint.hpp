// Where a process can be reached: the addresses of its interfaces, as they travel through the store.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/spi/status.hpp"

namespace hocket::tcp {

// An IP address and port. Both families are kept as IPv6 addresses (IPv4 as ::ffff:a.b.c.d).
struct Endpoint {
  in6_addr ip{};
  std::uint16_t port = 0;
  std::uint32_t scope = 0;  // index of the interface through which a link-local address is reached; else 0

  // "10.0.0.1:4000" or "[fe80::1%eth0]:4000".
  std::string text() const;
  std::string ip_text() const;
  bool is_ipv4() const;
};

// What a socket address says; nothing where it is of neither family.
std::optional<Endpoint> endpoint_of(const sockaddr* address);

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t bytes = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};
SocketAddress socket_address_of(const Endpoint& endpoint);

// What a transport advertises.
struct Reachability {
  std::uint64_t host = 0;  // equal where 127.0.0.1 is the same place
  std::uint16_t port = 0;
  std::uint8_t streams = 1;   // that this rank wants for a link
  std::vector<in6_addr> ips;  // in the order in which to try them
};

inline constexpr std::size_t ips_max = 24;  // so that the address stays below its limit of 512 bytes

std::string encode(const Reachability& reachability);
// Nothing where the bytes are no such address.
std::optional<Reachability> parse_reachability(std::string_view bytes);

}  // namespace hocket::tcp
