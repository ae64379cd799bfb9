#include "transports/tcp/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "src/base/environment.hpp"
#include "transports/tcp/sockets.hpp"

namespace hocket::tcp {
namespace {

constexpr std::int64_t buffer_bytes_max = std::int64_t{1} << 30;

Status read_streams(Settings& settings) {
  const auto variable = environment::find({"HOCKET_TCP_STREAMS"});
  if (!variable || variable->value == "auto") return {};
  const auto number = environment::to_integer(*variable, 1, streams_max);
  if (!number) {
    return {Code::invalid_environment, fmt::format("HOCKET_TCP_STREAMS is \"{}\"; set it to auto or a number from 1 to "
                                                   "{}.",
                                                   variable->value, streams_max)};
  }
  settings.streams = static_cast<std::uint8_t>(*number);
  return {};
}

Status read_congestion(Settings& settings) {
  const auto variable = environment::find({"HOCKET_TCP_CONGESTION"});
  if (!variable || variable->value == "auto") return {};
  settings.congestion.clear();
  if (variable->value == "system") return {};
  if (const auto refusal = try_congestion(variable->value)) {
    return {Code::invalid_environment, fmt::format("HOCKET_TCP_CONGESTION is \"{}\", which this host does not let us "
                                                   "use ({}); set it to auto, system or one of: {}.",
                                                   variable->value, *refusal, usable_congestion())};
  }
  settings.congestion.push_back(variable->value);
  return {};
}

// "20000-20099" or "20000".
Status read_ports(Settings& settings) {
  const auto variable = environment::find({"HOCKET_TCP_PORTS"});
  if (!variable) return {};
  const std::size_t dash = std::min(variable->value.find('-'), variable->value.size());
  const std::string low = variable->value.substr(0, dash);
  const std::string high = dash == variable->value.size() ? low : variable->value.substr(dash + 1);
  const auto first = environment::to_integer({variable->name, low}, 1, 65535);
  const auto last = environment::to_integer({variable->name, high}, first ? *first : 1, 65535);
  if (!first || !last) {
    return {Code::invalid_environment,
            fmt::format("HOCKET_TCP_PORTS is \"{}\"; set it to a range of ports, as in 20000-20099.", variable->value)};
  }
  settings.ports = {static_cast<std::uint16_t>(*first), static_cast<std::uint16_t>(*last)};
  return {};
}

Status read_buffer(const char* name, int& bytes) {
  const auto variable = environment::find({name});
  if (!variable) return {};
  const auto number = environment::to_bytes(*variable, 0, buffer_bytes_max);
  if (!number) return number.status();
  bytes = static_cast<int>(*number);
  return {};
}

}  // namespace

Result<Settings> Settings::from_environment(int streams) {
  Settings settings;
  settings.streams = static_cast<std::uint8_t>(std::clamp<int>(streams, 1, streams_max));
  if (Status status = read_streams(settings); !status.ok()) return status;
  if (Status status = read_congestion(settings); !status.ok()) return status;
  if (Status status = read_ports(settings); !status.ok()) return status;
  if (Status status = read_buffer("HOCKET_TCP_SEND_BUFFER", settings.send_buffer_bytes); !status.ok()) return status;
  if (Status status = read_buffer("HOCKET_TCP_RECEIVE_BUFFER", settings.receive_buffer_bytes); !status.ok()) {
    return status;
  }
  return settings;
}

}  // namespace hocket::tcp
