#include "tools/plan/settings.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "src/base/core_set.hpp"
#include "src/base/environment.hpp"
#include "src/comm/options.hpp"
#include "src/plan/class_tables.hpp"
#include "src/store/store_url.hpp"
#include "transports/registry.hpp"
#include "transports/tcp/endpoint.hpp"
#include "transports/tcp/interfaces.hpp"
#include "transports/tcp/settings.hpp"
#include "transports/tcp/sockets.hpp"

namespace hocket {
namespace {

using nlohmann::ordered_json;

// The words of a file's first line, between single spaces; empty where it cannot be read.
std::string settings_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line, word, words;
  std::getline(file, line);
  for (std::istringstream from(line); from >> word;) words += (words.empty() ? "" : " ") + word;
  return words;
}

// A secret stays one.
std::string shown(const environment::Variable& variable) {
  if (variable.name == "HOCKET_SECRET") return "set";
  return variable.name == "HOCKET_STORE" ? store::without_password(variable.value) : variable.value;
}

// What holds for a variable, and where it comes from: "default", "environment", "launcher (PMI_RANK)" for a variable
// that counts in its place, "file (/path)" for what a tuning file says.
struct InForce {
  std::string value, source;
};

InForce in_force(const environment::Known& known) {
  if (const auto variable = environment::in_force(known.name)) {
    return {shown(*variable),
            variable->name == known.name ? "environment" : fmt::format("launcher ({})", variable->name)};
  }
  const auto host = environment::find({"MASTER_ADDR"}), port = environment::find({"MASTER_PORT"});
  if (known.name == "HOCKET_STORE" && host && port) {
    return {fmt::format("tcp://{}:{}", host->value, port->value), "launcher (MASTER_ADDR, MASTER_PORT)"};
  }
  if (known.name == "HOCKET_TCP_STREAMS") {
    const auto tuning = comm::tuning_from_environment();
    const auto file = environment::find({"HOCKET_TUNING"});
    if (file && tuning.ok() && tuning->tcp_streams() > 0) {
      return {std::to_string(tuning->tcp_streams()), fmt::format("file ({})", file->value)};
    }
  }
  return {std::string(known.standard), "default"};
}

ordered_json variables() {
  auto rows = ordered_json::array();
  for (const environment::Known& known : environment::known()) {
    const InForce holds = in_force(known);
    rows.push_back({{"name", known.name},
                    {"value", holds.value},
                    {"source", holds.source},
                    {"default", known.standard},
                    {"meaning", known.meaning}});
  }
  return rows;
}

// In the order in which they are preferred.
ordered_json transport_names() {
  auto names = ordered_json::array();
  for (const TransportEntry& entry : transports()) names.push_back(entry.name);
  return names;
}

ordered_json problems() {
  auto sentences = ordered_json::array();
  const auto note = [&](const Status& status) {
    if (!status.ok()) sentences.push_back(status.message());
  };
  for (const std::string& sentence : environment::unknown_names()) sentences.push_back(sentence);
  if (const auto wanted = environment::find({"HOCKET_ALGORITHM"})) {
    const Status parsed = Choices::parse(wanted->value).status();
    if (!parsed.ok()) sentences.push_back("HOCKET_ALGORITHM: " + parsed.message());
  }
  note(comm::tuning_from_environment().status());
  note(Trust::from_environment().status());
  note(tcp::LocalHost::from_environment().status());
  note(tcp::Settings::from_environment().status());
  return sentences;
}

// Of the congestion controls that are wanted, the one that sockets get.
std::string congestion_in_force(const std::string& default_of_host) {
  const auto settings = tcp::Settings::from_environment();
  if (!settings) return "";
  for (const std::string& name : settings->congestion) {
    if (!tcp::try_congestion(name)) return name;
  }
  return default_of_host;
}

// Connections to each peer.
int streams_in_force() {
  const auto tuning = comm::tuning_from_environment();
  const auto settings = tcp::Settings::from_environment(tuning.ok() ? tuning->tcp_streams() : 0);
  return settings.ok() ? settings->streams : 0;
}

ordered_json interfaces() {
  const auto choice = tcp::AddressChoice::from_environment();
  std::map<std::string, std::vector<std::string>> addresses;
  for (const tcp::LocalAddress& address : tcp::addresses_of_this_host()) {
    addresses[address.interface].push_back(tcp::Endpoint{address.ip, 0, 0}.ip_text());
  }
  auto rows = ordered_json::array();
  for (const auto& [name, of_this] : addresses) {
    const std::string folder = "/sys/class/net/" + name + "/";
    const std::string speed = settings_line_of(folder + "speed"), mtu = settings_line_of(folder + "mtu");
    ordered_json row{{"name", name}, {"addresses", of_this}};
    // Virtual interfaces have none, or -1.
    row["mbit_per_s"] = speed.empty() || speed.front() == '-' ? ordered_json() : ordered_json::parse(speed);
    row["mtu"] = mtu.empty() ? ordered_json() : ordered_json::parse(mtu);
    row["allowed"] = choice.ok() && choice->allows_interface(name);
    rows.push_back(std::move(row));
  }
  return rows;
}

ordered_json host() {
  const std::string ipv4 = "/proc/sys/net/ipv4/", core = "/proc/sys/net/core/";
  const std::string default_of_host = settings_line_of(ipv4 + "tcp_congestion_control");
  return {{"congestion_control",
           {{"in_force", congestion_in_force(default_of_host)},
            {"default_of_host", default_of_host},
            {"allowed", tcp::usable_congestion()},
            {"available", settings_line_of(ipv4 + "tcp_available_congestion_control")}}},
          {"streams", streams_in_force()},
          {"limits",
           {{"net.core.wmem_max", settings_line_of(core + "wmem_max")},
            {"net.core.rmem_max", settings_line_of(core + "rmem_max")},
            {"net.ipv4.tcp_wmem", settings_line_of(ipv4 + "tcp_wmem")},
            {"net.ipv4.tcp_rmem", settings_line_of(ipv4 + "tcp_rmem")}}},
          {"interfaces", interfaces()}};
}

// By which of the library's tables ranks on this host choose.
ordered_json selection() {
  const NetworkSpeed speed = network_speed_of(tcp::megabits_per_second());
  const int cores = CoreSet::own().count();
  return {{"cores", cores},
          {"network", name_of(speed)},
          {"class, a core for each rank", machine_class_of({}, 2, 0, speed).name},
          {"class, more ranks than cores", machine_class_of({}, cores + 1, cores, speed).name},
          {"class, a rank on each of several hosts", machine_class_of(Topology({0, 1}), 2, 0, speed).name},
          {"class, ranks share several hosts", machine_class_of(Topology({0, 0, 1}), 3, 0, speed).name},
          {"digest of all tables", fmt::format("{:016x}", selection_digest())}};
}

std::string text_of(const ordered_json& value, const std::string& unit) {
  return value.is_null() ? "unknown" : value.dump() + unit;
}

void print_for_people(const ordered_json& all) {
  fmt::print("{:<26} {:<24} {:<22} {}\n", "variable", "value", "from", "what it is");
  for (const auto& row : all["variables"]) {
    fmt::print("{:<26} {:<24} {:<22} {}\n", row["name"].get<std::string>(), row["value"].get<std::string>(),
               row["source"].get<std::string>(), row["meaning"].get<std::string>());
  }
  fmt::print("\nOptions that a program sets itself come before these variables.\n\nTransports, the preferred first\n");
  fmt::print("  {}\n\nTCP on this host\n", fmt::join(all["transports"].get<std::vector<std::string>>(), ", "));
  const auto& tcp = all["tcp"];
  for (const auto& [key, value] : tcp["congestion_control"].items()) {
    fmt::print("  congestion control, {:<16} {}\n", key, value.get<std::string>());
  }
  fmt::print("  {:<36} {}\n", "connections to each peer", tcp["streams"].get<int>());
  for (const auto& [key, value] : tcp["limits"].items()) fmt::print("  {:<36} {}\n", key, value.get<std::string>());
  for (const auto& row : tcp["interfaces"]) {
    const auto addresses = row["addresses"].get<std::vector<std::string>>();
    fmt::print("  interface {:<12} {:<14} mtu {:<8} {:<12} {}\n", row["name"].get<std::string>(),
               text_of(row["mbit_per_s"], " Mbit/s"), text_of(row["mtu"], ""),
               row["allowed"].get<bool>() ? "used" : "not allowed", fmt::join(addresses, ", "));
  }
  fmt::print("\nTables of algorithms\n");
  for (const auto& [key, value] : all["selection"].items()) {
    fmt::print("  {:<40} {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
  }
  for (const auto& sentence : all["problems"]) fmt::print("\nWRONG: {}\n", sentence.get<std::string>());
}

}  // namespace

bool show_settings(bool json) {
  const ordered_json all{{"variables", variables()},
                         {"transports", transport_names()},
                         {"tcp", host()},
                         {"selection", selection()},
                         {"problems", problems()}};
  if (json) {
    fmt::print("{}\n", all.dump(2, ' ', false, ordered_json::error_handler_t::replace));
  } else {
    print_for_people(all);
  }
  return all["problems"].empty();
}

}  // namespace hocket
