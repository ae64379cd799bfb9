// Which host this process runs on: the one answer, for the placement of ranks, for shared memory and for addresses.
// What HOCKET_HOST_ID tells apart is apart for all of them.
#pragma once

#include <cstdint>
#include <string>

#include "src/spi/status.hpp"

namespace hocket {

struct HostIdentity {
  std::string given;          // HOCKET_HOST_ID; empty: not set
  std::string system;         // the name that the system has
  std::string boot;           // tells one start of one kernel from all others; empty where /proc does not say
  std::uint64_t network = 0;  // this process's network and user namespaces; 0 where /proc does not say
  std::uint64_t users = 0;

  // Of this process, now.
  static HostIdentity own();
  // `boot` of that, without asking for the rest.
  static std::string own_boot();

  // Code::invalid_environment where HOCKET_HOST_ID is longer than others can take.
  Status check() const;
  // Equal for ranks that count as ranks of one host: `given`, else what the system says.
  std::string name() const;
  // The same for processes on one kernel that are not told apart: they may reach each other without a network.
  std::string kernel() const;
  // Equal where, besides, 127.0.0.1 is the same place. Where /proc does not say, equal to no other, not even the next.
  std::uint64_t loopback() const;

  friend bool operator==(const HostIdentity&, const HostIdentity&) = default;
};

}  // namespace hocket
