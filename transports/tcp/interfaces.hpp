// Which of this host's addresses TCP advertises, and in which order it dials a peer's.
//
// Every address of every interface that is up is advertised. HOCKET_SOCKET_IFNAME narrows that down in NCCL's syntax:
// names between commas, which are prefixes of interfaces ("eth,ib0"); "=" before them asks for whole names
// ("=eth0"), "^" excludes ("^docker,lo"; "^=eth0"). HOCKET_SOCKET_FAMILY is ipv4, ipv6 or any. HOCKET_TCP_ADVERTISE
// lists external addresses.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/spi/status.hpp"
#include "transports/tcp/endpoint.hpp"

namespace hocket::tcp {

struct LocalAddress {
  std::string interface;
  std::uint32_t scope = 0;  // of a link-local address: the index of the interface
  in6_addr ip{};
  int prefix_bits = 128;  // what others on the same link have in common with it
};

enum class Family { any, ipv4, ipv6 };

// What the user allows.
class AddressChoice {
 public:
  // Texts as above; empty: everything. Code::invalid_environment says what is wrong with them.
  static Result<AddressChoice> parse(std::string_view names, std::string_view family);
  static Result<AddressChoice> from_environment();

  bool allows_interface(std::string_view name) const;
  bool allows(const in6_addr& ip) const;
  // Those that are allowed. Code::invalid_environment lists what there is where none of them is.
  Result<std::vector<LocalAddress>> choose(const std::vector<LocalAddress>& there) const;
  Family family() const { return family_; }
  // Whether it leaves out what there may be.
  bool narrows() const { return !names_.empty() || family_ != Family::any; }

 private:
  std::string text_;  // of the names, as given
  bool excludes_ = false, whole_ = false;
  std::vector<std::string> names_;
  Family family_ = Family::any;
};

// Those of HOCKET_TCP_ADVERTISE.
Result<std::vector<in6_addr>> external_addresses();

// Of interfaces that are up.
std::vector<LocalAddress> addresses_of_this_host();

// What the kernel tells of a physical interface; 0 for virtual ones and loopback, and where it does not know.
std::int64_t megabits_per_second_of(std::string_view interface, const std::string& folder = "/sys/class/net");

// What the environment says besides.
struct AddressWishes {
  bool narrowed = false;                // not all addresses of this host
  std::vector<in6_addr> external = {};  // at which others reach this host by way of somebody who passes it on
};

// This host, as its ranks advertise it and look out from it.
class LocalHost {
 public:
  // Code::invalid_environment where the environment allows no address that there is.
  static Result<LocalHost> from_environment();
  LocalHost(std::uint64_t id, Family family, std::vector<LocalAddress> addresses, AddressWishes wishes = {})
      : id_(id), family_(family), addresses_(std::move(addresses)), wishes_(std::move(wishes)) {}

  // Where to listen: at what is advertised and, for ranks of this host, loopback. Empty: everywhere.
  std::vector<Endpoint> listening_endpoints() const;
  // External addresses come first, then this host's: link-local ones after others, loopback last. Warns of those that
  // do not fit.
  Reachability advertise(std::uint16_t port, std::uint8_t streams = 1) const;
  // Of the interface with the address that is advertised first, as the kernel tells it.
  std::int64_t megabits_per_second() const;
  // Where to dial, in order. By loopback if both live on one host; else first the addresses on a network of our own,
  // then those that the kernel has a route to from an address of ours, then link-local ones, once for each interface,
  // and what cannot work last. IPv4 before IPv6.
  std::vector<Endpoint> candidates(const Reachability& theirs) const;
  // Of those, where a refusal comes from the other rank's kernel: not at addresses that this host has too, unless all
  // are such.
  std::vector<Endpoint> doors(const Reachability& theirs) const;

 private:
  std::vector<LocalAddress> by_preference() const;
  int distance(const Endpoint& endpoint) const;
  bool leads_back(const Endpoint& endpoint) const;

  std::uint64_t id_;
  Family family_;
  std::vector<LocalAddress> addresses_;
  AddressWishes wishes_;
};

// Of this host, as the environment lets it be reached; 0 where that is wrong.
std::int64_t megabits_per_second();
// "TCP on eth0 192.0.2.2, lo 127.0.0.1".
std::string describe_interfaces();

}  // namespace hocket::tcp
