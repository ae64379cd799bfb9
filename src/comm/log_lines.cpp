#include "src/comm/log_lines.hpp"

#include <fmt/format.h>

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "src/base/log.hpp"
#include "transports/registry.hpp"

namespace hocket::comm {
namespace {

std::string transports_of(const CommunicatorParts& parts) {
  std::vector<Direction> directions;
  const Mesh& mesh = parts.link_set->mesh();
  for (Rank peer = 0; peer < mesh.size(); ++peer) {
    if (peer != parts.link_set->rank()) directions.push_back({peer, true});
  }
  return mesh.routes().transports_of(directions);
}

}  // namespace

void log_communicator(const CommunicatorParts& parts) {
  if (!log::enabled(log::Level::info)) return;
  const Membership& members = parts.membership;
  const Rank hosts = members.topology().hosts();
  const std::string transports = transports_of(parts);
  std::string line =
      fmt::format("Hocket {}: rank {} of {} in communicator \"{}\" on {} host{}, transport {}", hocket_version(),
                  members.rank(), members.size(), members.name(), hosts, hosts == 1 ? "" : "s", transports);
  if (parts.window_use != nullptr) line += ", memory shared by all ranks";
  for (const TransportEntry& entry : hocket::transports()) {
    const bool used = transports.find(entry.name) != std::string::npos;
    if (used && entry.describe != nullptr) line += fmt::format(", {}", entry.describe());
  }
  log::info(line);
}

namespace {

// Once in the process.
void log_once(const std::string& what, std::size_t bytes) {
  static std::mutex mutex;
  static std::set<std::string> told;
  const std::lock_guard lock(mutex);
  if (told.insert(what).second) log::info(fmt::format("{}, first for {} bytes", what, bytes));
}

}  // namespace

void log_algorithm(const Membership& membership, Collective collective, std::size_t bytes, std::string_view algorithm) {
  if (!log::enabled(log::Level::info)) return;
  log_once(fmt::format("communicator \"{}\": {} by {}", membership.name(), name_of(collective), algorithm), bytes);
}

void log_exact_instead(const Membership& membership, Collective collective, std::size_t bytes, WireFormat allowed,
                       std::string_view algorithm) {
  if (!log::enabled(log::Level::info)) return;
  log_once(fmt::format("communicator \"{}\": {} may travel as {}, but stays exact by {}", membership.name(),
                       name_of(collective), name_of(allowed), algorithm),
           bytes);
}

}  // namespace hocket::comm
