#include "src/comm/announce.hpp"

#include <fmt/format.h>

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "src/base/log.hpp"
#include "transports/tcp/endpoint.hpp"
#include "transports/tcp/interfaces.hpp"

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

// "eth0 192.0.2.2, lo 127.0.0.1"
std::string tcp_addresses() {
  const auto choice = tcp::AddressChoice::from_environment();
  if (!choice.ok()) return "unknown";
  const auto chosen = choice->choose(tcp::addresses_of_this_host());
  if (!chosen.ok()) return "unknown";
  std::string text;
  for (const tcp::LocalAddress& address : *chosen) {
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", address.interface, tcp::Endpoint{address.ip, 0, 0}.ip_text());
  }
  return text;
}

}  // namespace

void announce(const CommunicatorParts& parts) {
  if (!log::enabled(log::Level::info)) return;
  const Membership& members = parts.membership;
  const Rank hosts = members.topology().hosts();
  const std::string transports = transports_of(parts);
  std::string line =
      fmt::format("Hocket {}: rank {} of {} in communicator \"{}\" on {} host{}, transport {}", hocket_version(),
                  members.rank(), members.size(), members.name(), hosts, hosts == 1 ? "" : "s", transports);
  if (parts.window_use != nullptr) line += ", memory shared by all ranks";
  if (transports.find("tcp") != std::string::npos) line += fmt::format(", TCP on {}", tcp_addresses());
  log::info(line);
}

void announce_algorithm(const Membership& membership, Collective collective, std::size_t bytes,
                        std::string_view algorithm) {
  if (!log::enabled(log::Level::info)) return;
  static std::mutex mutex;
  static std::set<std::string> told;
  const std::string what =
      fmt::format("communicator \"{}\": {} by {}", membership.name(), name_of(collective), algorithm);
  const std::lock_guard lock(mutex);
  if (told.insert(what).second) log::info(fmt::format("{}, first for {} bytes", what, bytes));
}

}  // namespace hocket::comm
