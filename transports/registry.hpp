// Every transport. A new one is one folder and one line here.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/spi/transport.hpp"

namespace hocket {

// What becomes of a transport where none is named ("auto").
enum class Automatic {
  required,   // it is used, and must work
  if_usable,  // it is used where it works
  no,         // it is used by those who name it
};

struct TransportEntry {
  std::string_view name;
  Automatic automatic;
  std::uint32_t version;  // of what travels over it; ranks that meet have the same
  Result<std::unique_ptr<Transport>> (*make)(const TransportConfig& config);
  // What the interface to other hosts tells of its speed; 0: it does not tell. Null: it reaches no other host.
  std::int64_t (*megabits_per_second)() = nullptr;
  // "TCP on eth0 192.0.2.2": over what it reaches other hosts, for logs. Null: it has nothing to say.
  std::string (*describe)() = nullptr;
};

// In the order in which they are preferred where several reach a peer.
std::span<const TransportEntry> transports();
// Null where there is none of that name.
const TransportEntry* find_transport(std::string_view name);

// The transports of this process, most preferred first: all that work here ("auto"), or the one named.
Result<std::vector<std::unique_ptr<Transport>>> open_transports(std::string_view wanted, const TransportConfig& config);

}  // namespace hocket
