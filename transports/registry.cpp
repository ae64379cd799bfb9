#include "transports/registry.hpp"

#include <fmt/format.h>

#include "src/base/log.hpp"
#include "transports/loopback/loopback_transport.hpp"
#include "transports/shm/channel.hpp"
#include "transports/shm/shm_transport.hpp"
#include "transports/tcp/interfaces.hpp"
#include "transports/tcp/tcp_transport.hpp"
#include "transports/tcp/wire.hpp"

namespace hocket {
namespace {

constexpr TransportEntry transport_entries[] = {
    {"shm", Automatic::if_usable, shm::channel_version, shm::make_transport},
    {"tcp", Automatic::required, tcp::wire_version, tcp::make_transport, tcp::megabits_per_second,
     tcp::describe_interfaces},
    {"loopback", Automatic::no, 1, loopback::make_transport},
};

}  // namespace

std::span<const TransportEntry> transports() {
  return transport_entries;
}

const TransportEntry* find_transport(std::string_view name) {
  for (const TransportEntry& entry : transport_entries) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

Result<std::vector<std::unique_ptr<Transport>>> open_transports(std::string_view wanted,
                                                                const TransportConfig& config) {
  std::vector<std::unique_ptr<Transport>> opened;
  for (const TransportEntry& entry : transport_entries) {
    const bool named = wanted == entry.name;
    if (!named && (wanted != "auto" || entry.automatic == Automatic::no)) continue;
    auto transport = entry.make(config);
    if (transport.ok()) {
      opened.push_back(std::move(*transport));
    } else if (named || entry.automatic == Automatic::required) {
      return transport.status();
    } else if (config.warns) {
      log::warn(fmt::format("continuing without transport {}: {}", entry.name, transport.status().message()));
    }
  }
  return opened;
}

}  // namespace hocket
