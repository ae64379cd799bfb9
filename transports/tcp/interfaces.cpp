#include "transports/tcp/interfaces.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "src/base/fd.hpp"
#include "src/base/file_contents.hpp"
#include "src/base/host_identity.hpp"
#include "src/base/log.hpp"
#include "src/base/words.hpp"

namespace hocket::tcp {
namespace {

bool is_ipv4(const in6_addr& ip) {
  return IN6_IS_ADDR_V4MAPPED(&ip);
}

bool is_loopback(const in6_addr& ip) {
  return IN6_IS_ADDR_LOOPBACK(&ip) || (is_ipv4(ip) && ip.s6_addr[12] == 127);
}

in6_addr loopback_of(Family family) {
  if (family == Family::ipv6) return in6addr_loopback;
  return {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}}};
}

bool is_link_local(const in6_addr& ip) {
  return IN6_IS_ADDR_LINKLOCAL(&ip);
}

bool equal(const in6_addr& a, const in6_addr& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

bool is_among(const std::vector<LocalAddress>& addresses, const in6_addr& ip) {
  return std::ranges::any_of(addresses, [&](const LocalAddress& address) { return equal(address.ip, ip); });
}

bool share_prefix(const in6_addr& a, const in6_addr& b, int bits) {
  for (int i = 0; i < bits; ++i) {
    if (((a.s6_addr[i / 8] ^ b.s6_addr[i / 8]) >> (7 - i % 8) & 1) != 0) return false;
  }
  return true;
}

// Of a netmask, which as an IPv4 address has 96 bits before it.
int prefix_bits_of(const sockaddr* netmask, bool ipv4) {
  const auto mask = endpoint_of(netmask);
  if (!mask) return 128;
  int bits = ipv4 ? 96 : 0;
  while (bits < 128 && (mask->ip.s6_addr[bits / 8] >> (7 - bits % 8) & 1) != 0) ++bits;
  return bits;
}

// Lower is advertised first.
int preference(const in6_addr& ip) {
  if (is_loopback(ip)) return 3;
  if (is_link_local(ip)) return 2;
  return is_ipv4(ip) ? 0 : 1;
}

// The address that the kernel would dial from; nothing where it has no route. Sends nothing.
std::optional<in6_addr> source_towards(const Endpoint& endpoint) {
  const SocketAddress to = socket_address_of(endpoint);
  const UniqueFd socket(::socket(to.get()->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), to.get(), to.bytes) != 0) return std::nullopt;
  SocketAddress from;
  from.bytes = sizeof from.storage;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&from.storage), &from.bytes) != 0) return std::nullopt;
  const auto source = endpoint_of(from.get());
  if (!source) return std::nullopt;
  return source->ip;
}

}  // namespace

// ---- this host ------------------------------------------------------------------------------------------------------

std::vector<LocalAddress> addresses_of_this_host() {
  std::vector<LocalAddress> addresses;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return addresses;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    const auto endpoint = endpoint_of(at->ifa_addr);
    if (!endpoint || (at->ifa_flags & IFF_UP) == 0) continue;
    addresses.push_back({.interface = at->ifa_name,
                         .scope = endpoint->scope,
                         .ip = endpoint->ip,
                         .prefix_bits = prefix_bits_of(at->ifa_netmask, endpoint->is_ipv4())});
  }
  ::freeifaddrs(list);
  return addresses;
}

// Virtual interfaces have no device; some tell a speed that is not theirs.
std::int64_t megabits_per_second_of(std::string_view interface, const std::string& folder) {
  const std::string of_this = fmt::format("{}/{}", folder, interface);
  struct stat device {};
  if (::stat((of_this + "/device").c_str(), &device) != 0) return 0;
  const std::string speed = file_contents(of_this + "/speed").value_or("");
  return std::max<std::int64_t>(Words(speed).number<std::int64_t>(), 0);
}

Result<LocalHost> LocalHost::from_environment() {
  const auto choice = AddressChoice::from_environment();
  if (!choice) return choice.status();
  auto chosen = choice->choose(addresses_of_this_host());
  if (!chosen) return chosen.status();
  auto external = external_addresses();
  if (!external) return external.status();
  return LocalHost(HostIdentity::own().loopback(), choice->family(), std::move(*chosen),
                   {choice->narrows(), std::move(*external)});
}

std::vector<Endpoint> LocalHost::listening_endpoints() const {
  if (!wishes_.narrowed) return {};
  std::vector<Endpoint> endpoints;
  if (family_ != Family::ipv6) endpoints.push_back({loopback_of(Family::ipv4)});
  if (family_ == Family::ipv6) endpoints.push_back({loopback_of(Family::ipv6)});
  for (const LocalAddress& address : addresses_) {
    if (equal(address.ip, endpoints.front().ip)) continue;
    endpoints.push_back({address.ip, 0, is_link_local(address.ip) ? address.scope : 0});
  }
  return endpoints;
}

std::vector<LocalAddress> LocalHost::by_preference() const {
  std::vector<LocalAddress> sorted = addresses_;
  std::ranges::stable_sort(sorted, {}, [](const LocalAddress& address) { return preference(address.ip); });
  return sorted;
}

Reachability LocalHost::advertise(std::uint16_t port, std::uint8_t streams) const {
  Reachability mine{.host = id_, .port = port, .streams = streams, .ips = wishes_.external};
  for (const LocalAddress& address : by_preference()) mine.ips.push_back(address.ip);
  if (mine.ips.size() > ips_max) {
    log::warn(
        fmt::format("this host has {} addresses, of which only {} are advertised, up to {}: name the interfaces "
                    "between hosts in HOCKET_SOCKET_IFNAME",
                    mine.ips.size(), ips_max, Endpoint{mine.ips[ips_max - 1]}.ip_text()));
    mine.ips.resize(ips_max);
  }
  return mine;
}

std::int64_t LocalHost::megabits_per_second() const {
  return addresses_.empty() ? 0 : megabits_per_second_of(by_preference().front().interface);
}

// Another host's address that is ours too (loopback, bridges of containers) would lead back to ourselves.
bool LocalHost::leads_back(const Endpoint& endpoint) const {
  return is_among(addresses_, endpoint.ip) || is_loopback(endpoint.ip);
}

std::vector<Endpoint> LocalHost::doors(const Reachability& theirs) const {
  std::vector<Endpoint> doors = candidates(theirs);
  const std::vector<LocalAddress> now = addresses_of_this_host();  // also of interfaces that ranks do not use
  const auto leads_back = [&](const Endpoint& endpoint) {
    return this->leads_back(endpoint) || is_among(now, endpoint.ip);
  };
  if (!std::ranges::all_of(doors, leads_back)) std::erase_if(doors, leads_back);
  return doors;
}

// Lower is tried first.
int LocalHost::distance(const Endpoint& endpoint) const {
  if (leads_back(endpoint)) return 5;
  if (is_link_local(endpoint.ip)) return 3;
  for (const LocalAddress& address : addresses_) {
    if (share_prefix(address.ip, endpoint.ip, address.prefix_bits)) return 0;
  }
  const auto source = source_towards(endpoint);
  if (!source) return 4;
  return is_among(addresses_, *source) ? 1 : 2;
}

std::vector<Endpoint> LocalHost::candidates(const Reachability& theirs) const {
  if (id_ == theirs.host) {
    return {Endpoint{loopback_of(family_), theirs.port}};
  }
  std::vector<std::pair<int, Endpoint>> found;
  for (const in6_addr& ip : theirs.ips) {
    if (family_ != Family::any && (family_ == Family::ipv4) != is_ipv4(ip)) continue;
    if (!is_link_local(ip)) {
      const Endpoint endpoint{ip, theirs.port};
      found.emplace_back(distance(endpoint), endpoint);
      continue;
    }
    for (const LocalAddress& address : addresses_) {
      if (!is_link_local(address.ip)) continue;  // only from such an address can it be reached
      const Endpoint endpoint{ip, theirs.port, address.scope};
      found.emplace_back(distance(endpoint), endpoint);
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Endpoint> endpoints;
  for (const auto& [distance, endpoint] : found) endpoints.push_back(endpoint);
  return endpoints;
}

std::int64_t megabits_per_second() {
  const auto host = LocalHost::from_environment();
  return host.ok() ? host->megabits_per_second() : 0;
}

std::string describe_interfaces() {
  const auto choice = AddressChoice::from_environment();
  const auto chosen = choice.ok() ? choice->choose(addresses_of_this_host()) : choice.status();
  if (!chosen.ok()) return "TCP on unknown addresses";
  std::string text;
  for (const LocalAddress& address : *chosen) {
    text += fmt::format("{}{} {}", text.empty() ? "TCP on " : ", ", address.interface,
                        Endpoint{address.ip, 0, 0}.ip_text());
  }
  return text;
}

}  // namespace hocket::tcp
