#include "transports/tcp/endpoint.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>

#include <cstring>

#include "src/base/bytes.hpp"
#include "transports/tcp/wire.hpp"

namespace hocket::tcp {
namespace {

constexpr std::uint8_t address_version = 2;

in6_addr mapped(std::uint32_t network_order) {
  in6_addr ip{};
  ip.s6_addr[10] = ip.s6_addr[11] = 0xff;
  std::memcpy(ip.s6_addr + 12, &network_order, sizeof network_order);
  return ip;
}

}  // namespace

bool Endpoint::is_ipv4() const {
  return IN6_IS_ADDR_V4MAPPED(&ip);
}

std::string Endpoint::ip_text() const {
  char text[INET6_ADDRSTRLEN] = "?";
  if (is_ipv4()) {
    ::inet_ntop(AF_INET, ip.s6_addr + 12, text, sizeof text);
  } else {
    ::inet_ntop(AF_INET6, &ip, text, sizeof text);
  }
  char interface[IF_NAMESIZE];
  if (scope != 0 && ::if_indextoname(scope, interface) != nullptr) return fmt::format("{}%{}", text, interface);
  return text;
}

std::string Endpoint::text() const {
  return is_ipv4() ? fmt::format("{}:{}", ip_text(), port) : fmt::format("[{}]:{}", ip_text(), port);
}

std::optional<Endpoint> endpoint_of(const sockaddr* address) {
  if (address == nullptr) return std::nullopt;
  if (address->sa_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, address, sizeof v4);
    return Endpoint{mapped(v4.sin_addr.s_addr), ntohs(v4.sin_port)};
  }
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, address, sizeof v6);
    return Endpoint{v6.sin6_addr, ntohs(v6.sin6_port), v6.sin6_scope_id};
  }
  return std::nullopt;
}

SocketAddress socket_address_of(const Endpoint& endpoint) {
  SocketAddress made;
  if (endpoint.is_ipv4()) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(endpoint.port);
    std::memcpy(&v4.sin_addr, endpoint.ip.s6_addr + 12, sizeof v4.sin_addr);
    std::memcpy(&made.storage, &v4, sizeof v4);
    made.bytes = sizeof v4;
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(endpoint.port);
    v6.sin6_addr = endpoint.ip;
    v6.sin6_scope_id = endpoint.scope;
    std::memcpy(&made.storage, &v6, sizeof v6);
    made.bytes = sizeof v6;
  }
  return made;
}

std::string encode(const Reachability& reachability) {
  std::string bytes(1 + 8 + 2 + 1 + 1 + reachability.ips.size() * sizeof(in6_addr), '\0');
  ByteWriter to(reinterpret_cast<std::byte*>(bytes.data()));
  to.put(address_version);
  to.put(reachability.host);
  to.put(reachability.port);
  to.put(reachability.streams);
  to.put(static_cast<std::uint8_t>(reachability.ips.size()));
  for (const in6_addr& ip : reachability.ips) to.put(ip);
  return bytes;
}

std::optional<Reachability> parse_reachability(std::string_view bytes) {
  ByteReader from(bytes);
  Reachability theirs;
  const auto version = from.take<std::uint8_t>();
  theirs.host = from.take<std::uint64_t>();
  theirs.port = from.take<std::uint16_t>();
  theirs.streams = from.take<std::uint8_t>();
  const auto count = from.take<std::uint8_t>();
  if (version != address_version || theirs.port == 0 || count > ips_max) return std::nullopt;
  if (theirs.streams == 0 || theirs.streams > streams_max) return std::nullopt;
  for (std::uint8_t i = 0; i < count; ++i) theirs.ips.push_back(from.take<in6_addr>());
  if (!from.ok() || from.left() != 0) return std::nullopt;
  return theirs;
}

}  // namespace hocket::tcp
