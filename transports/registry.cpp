#include "transports/registry.hpp"

#include "transports/shm/shm_transport.hpp"
#include "transports/tcp/tcp_transport.hpp"

namespace hocket {
namespace {

constexpr TransportEntry table[] = {
    {"shm", shm::make_transport},
    {"tcp", tcp::make_transport},
};

}  // namespace

std::span<const TransportEntry> transports() {
  return table;
}

const TransportEntry* find_transport(std::string_view name) {
  for (const TransportEntry& entry : table) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace hocket
