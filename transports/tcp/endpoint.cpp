#include "transports/tcp/endpoint.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "transports/tcp/little_endian.hpp"

namespace hocket::tcp {
namespace {

constexpr std::uint8_t address_version = 1;

in6_addr mapped(std::uint32_t network_order) {
  in6_addr ip{};
  ip.s6_addr[10] = ip.s6_addr[11] = 0xff;
  std::memcpy(ip.s6_addr + 12, &network_order, sizeof network_order);
  return ip;
}

bool is_loopback(const in6_addr& ip) {
  return IN6_IS_ADDR_LOOPBACK(&ip) || (IN6_IS_ADDR_V4MAPPED(&ip) && ip.s6_addr[12] == 127);
}

// Lower is tried first.
int preference(const in6_addr& ip) {
  if (is_loopback(ip)) return 2;
  return IN6_IS_ADDR_V4MAPPED(&ip) ? 0 : 1;
}

// FNV-1a.
void mix(std::uint64_t& hash, std::string_view bytes) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
}

// One booted kernel and one network namespace in it: there, 127.0.0.1 is the same place.
std::uint64_t host_id() {
  std::uint64_t hash = 0xcbf29ce484222325;
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  mix(hash, boot);
  struct stat network {};
  if (::stat("/proc/self/ns/net", &network) == 0) mix(hash, fmt::format("{}:{}", network.st_dev, network.st_ino));
  return hash;
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
    return Endpoint{v6.sin6_addr, ntohs(v6.sin6_port)};
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
    std::memcpy(&made.storage, &v6, sizeof v6);
    made.bytes = sizeof v6;
  }
  return made;
}

Reachability local_reachability(std::uint16_t port) {
  Reachability mine{.host = host_id(), .port = port, .ips = {}};
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) == 0) {
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
      const auto endpoint = endpoint_of(entry->ifa_addr);
      if (!endpoint || (entry->ifa_flags & IFF_UP) == 0) continue;
      if (IN6_IS_ADDR_LINKLOCAL(&endpoint->ip)) continue;  // means nothing without the peer's interface
      mine.ips.push_back(endpoint->ip);
    }
    ::freeifaddrs(list);
  }
  std::stable_sort(mine.ips.begin(), mine.ips.end(),
                   [](const in6_addr& a, const in6_addr& b) { return preference(a) < preference(b); });
  if (mine.ips.size() > ips_max) mine.ips.resize(ips_max);
  return mine;
}

std::string encode(const Reachability& reachability) {
  std::string bytes(1 + 8 + 2 + 1 + reachability.ips.size() * sizeof(in6_addr), '\0');
  Writer to(reinterpret_cast<std::byte*>(bytes.data()));
  to.put(address_version);
  to.put(reachability.host);
  to.put(reachability.port);
  to.put(static_cast<std::uint8_t>(reachability.ips.size()));
  for (const in6_addr& ip : reachability.ips) to.put(ip);
  return bytes;
}

std::optional<Reachability> parse_reachability(std::string_view bytes) {
  Reader from(std::as_bytes(std::span(bytes)));
  Reachability theirs;
  const auto version = from.take<std::uint8_t>();
  theirs.host = from.take<std::uint64_t>();
  theirs.port = from.take<std::uint16_t>();
  const auto count = from.take<std::uint8_t>();
  if (version != address_version || theirs.port == 0 || count > ips_max) return std::nullopt;
  for (std::uint8_t i = 0; i < count; ++i) theirs.ips.push_back(from.take<in6_addr>());
  if (!from.ok() || from.left() != 0) return std::nullopt;
  return theirs;
}

std::vector<Endpoint> candidates(const Reachability& mine, const Reachability& theirs) {
  if (mine.host == theirs.host) return {Endpoint{mapped(htonl(INADDR_LOOPBACK)), theirs.port}};
  std::vector<Endpoint> endpoints;
  for (const in6_addr& ip : theirs.ips) endpoints.push_back(Endpoint{ip, theirs.port});
  return endpoints;
}

}  // namespace hocket::tcp
