#include "transports/tcp/interfaces.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>

#include "src/base/environment.hpp"
#include "src/base/fd.hpp"

namespace hocket::tcp {
namespace {

constexpr char names_variable[] = "HOCKET_SOCKET_IFNAME";
constexpr char family_variable[] = "HOCKET_SOCKET_FAMILY";

bool is_ipv4(const in6_addr& ip) {
  return IN6_IS_ADDR_V4MAPPED(&ip);
}

bool is_loopback(const in6_addr& ip) {
  return IN6_IS_ADDR_LOOPBACK(&ip) || (is_ipv4(ip) && ip.s6_addr[12] == 127);
}

bool is_link_local(const in6_addr& ip) {
  return IN6_IS_ADDR_LINKLOCAL(&ip);
}

bool equal(const in6_addr& a, const in6_addr& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
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

// "eth0 (10.0.0.1, fd00::2), lo (127.0.0.1)".
std::string list_of(const std::vector<LocalAddress>& addresses) {
  std::map<std::string, std::string> by_interface;
  for (const LocalAddress& address : addresses) {
    std::string& list = by_interface[address.interface];
    list += fmt::format("{}{}", list.empty() ? "" : ", ", Endpoint{address.ip, 0}.ip_text());
  }
  std::string text;
  for (const auto& [name, list] : by_interface) text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", name, list);
  return text.empty() ? "none" : text;
}

}  // namespace

// ---- what the user allows -------------------------------------------------------------------------------------------

Result<AddressChoice> AddressChoice::parse(std::string_view names, std::string_view family) {
  AddressChoice choice;
  choice.text_ = names;
  const auto take = [&](char mark) {
    const bool there = names.starts_with(mark);
    if (there) names.remove_prefix(1);
    return there;
  };
  choice.excludes_ = take('^');
  choice.whole_ = take('=');
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    if (end > 0) choice.names_.emplace_back(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  if (choice.names_.empty() && !choice.text_.empty()) {
    return Status(Code::invalid_environment,
                  fmt::format("{} is \"{}\", which names no interface; write it like eth0, eth,ib, =eth0 or ^docker,lo",
                              names_variable, choice.text_));
  }
  if (family == "ipv4") {
    choice.family_ = Family::ipv4;
  } else if (family == "ipv6") {
    choice.family_ = Family::ipv6;
  } else if (!family.empty() && family != "any") {
    return Status(Code::invalid_environment,
                  fmt::format("{} is \"{}\"; set it to ipv4, ipv6 or any", family_variable, family));
  }
  return choice;
}

Result<AddressChoice> AddressChoice::from_environment() {
  const auto value = [](const char* variable) {
    const auto found = environment::find({variable});
    return found ? found->value : std::string();
  };
  return parse(value(names_variable), value(family_variable));
}

bool AddressChoice::allows_interface(std::string_view name) const {
  if (names_.empty()) return true;
  const auto means = [&](const std::string& given) { return whole_ ? name == given : name.starts_with(given); };
  return std::any_of(names_.begin(), names_.end(), means) != excludes_;
}

bool AddressChoice::allows(const in6_addr& ip) const {
  return family_ == Family::any || (family_ == Family::ipv4) == is_ipv4(ip);
}

Result<std::vector<LocalAddress>> AddressChoice::choose(const std::vector<LocalAddress>& there) const {
  std::vector<LocalAddress> chosen;
  bool any_interface = false;
  for (const LocalAddress& address : there) {
    if (!allows_interface(address.interface)) continue;
    any_interface = true;
    if (allows(address.ip)) chosen.push_back(address);
  }
  if (!chosen.empty() || (names_.empty() && family_ == Family::any)) return chosen;
  if (!any_interface) {
    return Status(Code::invalid_environment,
                  fmt::format("{} is \"{}\", but that leaves no interface with an address; there are: {}",
                              names_variable, text_, list_of(there)));
  }
  return Status(Code::invalid_environment,
                fmt::format("{} is \"{}\", but {} has such an address; there are: {}", family_variable,
                            family_ == Family::ipv4 ? "ipv4" : "ipv6",
                            names_.empty() ? "no interface" : fmt::format("none of {}=\"{}\"", names_variable, text_),
                            list_of(there)));
}

// ---- this host ------------------------------------------------------------------------------------------------------

std::vector<LocalAddress> addresses_of_this_host() {
  std::vector<LocalAddress> addresses;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return addresses;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    const auto endpoint = endpoint_of(at->ifa_addr);
    if (!endpoint || (at->ifa_flags & IFF_UP) == 0) continue;
    addresses.push_back({.interface = at->ifa_name,
                         .index = ::if_nametoindex(at->ifa_name),
                         .ip = endpoint->ip,
                         .prefix_bits = prefix_bits_of(at->ifa_netmask, endpoint->is_ipv4())});
  }
  ::freeifaddrs(list);
  return addresses;
}

// Virtual interfaces have no device; some tell a speed that is not theirs.
std::int64_t megabits_per_second_of(std::string_view interface, const std::string& folder) {
  const std::string of_this = fmt::format("{}/{}", folder, interface);
  std::int64_t speed = 0;
  struct stat device {};
  if (::stat((of_this + "/device").c_str(), &device) != 0) return 0;
  return std::ifstream(of_this + "/speed") >> speed ? std::max<std::int64_t>(speed, 0) : 0;
}

Result<LocalHost> LocalHost::from_environment() {
  const auto choice = AddressChoice::from_environment();
  if (!choice) return choice.status();
  auto chosen = choice->choose(addresses_of_this_host());
  if (!chosen) return chosen.status();
  return LocalHost(host_id(), choice->family(), std::move(*chosen));
}

std::vector<LocalAddress> LocalHost::by_preference() const {
  std::vector<LocalAddress> sorted = addresses_;
  std::ranges::stable_sort(sorted, {}, [](const LocalAddress& address) { return preference(address.ip); });
  return sorted;
}

Reachability LocalHost::advertise(std::uint16_t port, std::uint8_t streams) const {
  Reachability mine{.host = id_, .port = port, .streams = streams, .ips = {}};
  for (const LocalAddress& address : by_preference()) mine.ips.push_back(address.ip);
  if (mine.ips.size() > ips_max) mine.ips.resize(ips_max);
  return mine;
}

std::int64_t LocalHost::megabits_per_second() const {
  return addresses_.empty() ? 0 : megabits_per_second_of(by_preference().front().interface);
}

bool LocalHost::is_mine(const in6_addr& ip) const {
  return std::any_of(addresses_.begin(), addresses_.end(),
                     [&](const LocalAddress& address) { return equal(address.ip, ip); });
}

// Lower is tried first.
int LocalHost::distance(const Endpoint& endpoint) const {
  // Another host's address that is ours too (loopback, bridges of containers) would lead back to ourselves.
  if (is_mine(endpoint.ip) || is_loopback(endpoint.ip)) return 5;
  if (is_link_local(endpoint.ip)) return 3;
  for (const LocalAddress& address : addresses_) {
    if (share_prefix(address.ip, endpoint.ip, address.prefix_bits)) return 0;
  }
  const auto source = source_towards(endpoint);
  if (!source) return 4;
  return is_mine(*source) ? 1 : 2;
}

std::vector<Endpoint> LocalHost::candidates(const Reachability& theirs) const {
  if (id_ == theirs.host) {
    in6_addr loopback = in6addr_loopback;
    if (family_ != Family::ipv6) loopback = {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}}};
    return {Endpoint{loopback, theirs.port}};
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
      const Endpoint endpoint{ip, theirs.port, address.index};
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

}  // namespace hocket::tcp
