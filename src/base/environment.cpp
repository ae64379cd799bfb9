#include "src/base/environment.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <system_error>
#include <vector>

namespace hocket::environment {
namespace {

constexpr std::string_view prefix = "HOCKET_";

// Every variable with our prefix that anything in Hocket reads.
constexpr Known known_variables[] = {
    {"HOCKET_RANK",
     "the launcher's",
     "this process's rank",
     {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "JOB_COMPLETION_INDEX"}},
    {"HOCKET_WORLD_SIZE",
     "the launcher's",
     "number of ranks",
     {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}},
    {"HOCKET_STORE", "tcp://MASTER_ADDR:MASTER_PORT",
     "where ranks meet: tcp://HOST:PORT, file:///PATH or redis://HOST:PORT"},
    {"HOCKET_JOB", "default", "name of the group; groups of one store need different ones"},
    {"HOCKET_NEWCOMER", "off",
     "on: this process has no rank, but joins others by hocket_comm_join; hocket-run sets it"},
    {"HOCKET_JOINING_POINT", "default", "the name under which newcomers and members look for each other"},
    {"HOCKET_SECRET", "none", "16 characters or more that strangers cannot guess, equal on all ranks; they prove it"},
    {"HOCKET_SECRET_FILE", "none", "a file that holds it, and that its owner alone can use"},
    {"HOCKET_INSECURE", "off", "on: where no secret is set, everyone is let in who can reach a port"},
    {"HOCKET_TIMEOUT_MS", "300000", "how long any wait may last, in milliseconds; all beyond a year is a year"},
    {"HOCKET_TRANSPORT", "auto",
     "a name that hocket-plan settings lists, or auto: for each peer the first that reaches it"},
    {"HOCKET_ALGORITHM", "auto", "ring, or by collective and size: allreduce=linear:4K,ring;broadcast=chain"},
    {"HOCKET_TUNING", "none",
     "a file that hocket-plan choose --save wrote: tables that take precedence over the library's"},
    {"HOCKET_DETERMINISTIC", "off",
     "on: sums are taken in rank order, so that results depend on inputs and ranks alone"},
    {"HOCKET_TLS_CERT", "none",
     "this side's certificate (PEM); with HOCKET_TLS_KEY and HOCKET_TLS_CA: all of TCP is TLS"},
    {"HOCKET_TLS_KEY", "none", "the certificate's private key (PEM)"},
    {"HOCKET_TLS_CA", "none", "the authority that signs the certificates of all ranks and of the store (PEM)"},
    {"HOCKET_LOG_LEVEL", "warn", "error, warn, info (also version, ranks, transport and algorithms) or debug"},
    {"HOCKET_RECORD_DIR", "none", "a folder to which each rank writes what it did when its communicator breaks"},
    {"HOCKET_RECORD_SIGNAL", "none", "USR1 or USR2: with this signal a rank writes its record there at any time"},
    {"HOCKET_RECORD_AT_END", "off", "on: ranks write their records there also when a communicator ends well"},
    {"HOCKET_RECORD_STEPS", "0", "how many of the latest steps of its schedules a rank records, too"},
    {"HOCKET_REPORT", "off", "on: ranks tell the store each second what they do, and answer hocket-doctor --job"},
    {"HOCKET_HOST_ID", "host name and boot id", "ranks with the same one share a host"},
    {"HOCKET_SINGLE_COPY", "auto", "on, off or auto: read plain memory of other ranks of the host where it lies"},
    {"HOCKET_SOCKET_IFNAME", "all that are up", "interfaces for TCP: eth,ib0 (prefixes), =eth0 (exactly), ^lo (not)"},
    {"HOCKET_SOCKET_FAMILY", "any", "ipv4, ipv6 or any"},
    {"HOCKET_TCP_ADVERTISE", "none",
     "external IP addresses, between commas, at which other hosts reach this one (NAT, containers)"},
    {"HOCKET_TCP_PORTS", "any", "ports to listen on, as in 20000-20099"},
    {"HOCKET_TCP_STREAMS", "auto", "connections to each peer, 1 to 16; auto: as HOCKET_TUNING says, else 1"},
    {"HOCKET_TCP_CONGESTION", "auto", "congestion control; auto: cubic, else reno; system: the host's default"},
    {"HOCKET_TCP_SEND_BUFFER", "1M", "bytes of a socket's send buffer, as in 512K; 0: the kernel's choice"},
    {"HOCKET_TCP_RECEIVE_BUFFER", "1M", "bytes of a socket's receive buffer; 0: the kernel's choice"},
};

// Further than this from every known name, a guess would only mislead.
constexpr std::size_t furthest_suggestion = 4;

// Levenshtein: the fewest letters to insert, delete or replace to get from `a` to `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);  // distances from a's prefix so far to each prefix of b
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string unknown(std::string_view name) {
  const auto distance = [name](std::string_view candidate) { return edit_distance(name, candidate); };
  const auto nearest =
      std::ranges::min_element(known_variables, {}, [&](const Known& one) { return distance(one.name); })->name;
  if (distance(nearest) <= furthest_suggestion) {
    return fmt::format("{} is not a variable that Hocket knows and is ignored; did you mean {}?", name, nearest);
  }
  return fmt::format(
      "{} is not a variable that Hocket knows and is ignored; `hocket-plan settings` lists those it knows.", name);
}

// What environment modules set for a package, and Kubernetes for a service, that is called hocket.
bool is_made_by_others(std::string_view name) {
  constexpr std::string_view of_modules[] = {"ROOT",        "HOME",    "DIR",     "BASE",    "PREFIX",      "VERSION",
                                             "BIN",         "LIB",     "INC",     "INCLUDE", "LIBDIR",      "LIBRARY",
                                             "INCLUDE_DIR", "LIB_DIR", "BIN_DIR", "INC_DIR", "LIBRARY_DIR", "MAN",
                                             "DOC",         "SHARE",   "MODULE"};
  const std::string_view own = name.substr(prefix.size());
  if (std::ranges::find(of_modules, own) != std::end(of_modules)) return true;
  // NAME_SERVICE_HOST, NAME_SERVICE_PORT, NAME_SERVICE_PORT_HTTP, NAME_PORT, NAME_PORT_80_TCP, NAME_PORT_80_TCP_ADDR
  if (own.find("SERVICE_HOST") != own.npos || own.find("SERVICE_PORT") != own.npos) return true;
  const auto port = own.rfind("PORT");
  if (port == own.npos || (port > 0 && own[port - 1] != '_')) return false;
  const std::string_view rest = own.substr(port + 4);
  return rest.empty() || (rest.size() > 1 && rest[0] == '_' && std::isdigit(static_cast<unsigned char>(rest[1])));
}

}  // namespace

std::optional<Variable> find(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return Variable{name, value};
  }
  return std::nullopt;
}

Result<std::int64_t> to_integer(const Variable& variable, std::int64_t low, std::int64_t high) {
  std::int64_t number = 0;
  const char* const end = variable.value.data() + variable.value.size();
  const auto [stop, error] = std::from_chars(variable.value.data(), end, number);
  if (error != std::errc() || stop != end || number < low || number > high) {
    return Status(Code::invalid_environment, fmt::format("{} is \"{}\"; set it to a whole number from {} to {}.",
                                                         variable.name, variable.value, low, high));
  }
  return number;
}

Result<std::int64_t> to_bytes(const Variable& variable, std::int64_t low, std::int64_t high) {
  constexpr std::string_view units = "KMG";
  std::string digits = variable.value;
  int shift = 0;
  if (!digits.empty()) {
    const auto unit = units.find(static_cast<char>(std::toupper(static_cast<unsigned char>(digits.back()))));
    if (unit != std::string_view::npos) {
      shift = 10 * (static_cast<int>(unit) + 1);
      digits.pop_back();
    }
  }
  const auto number = to_integer({variable.name, digits}, 0, high >> shift);
  if (!number || *number << shift < low) {
    return Status(Code::invalid_environment,
                  fmt::format("{} is \"{}\"; set it to a number of bytes from {} to {}, as in 512K or 4M.",
                              variable.name, variable.value, low, high));
  }
  return *number << shift;
}

Result<bool> to_switch(const Variable& variable, std::string_view others) {
  if (variable.value == "on" || variable.value == "1") return true;
  if (variable.value == "off" || variable.value == "0") return false;
  return Status(Code::invalid_environment,
                fmt::format("{} is \"{}\"; set it to {}on or off (1 or 0).", variable.name, variable.value, others));
}

std::span<const Known> known() {
  return known_variables;
}

std::optional<Variable> in_force(std::string_view name) {
  const auto one = std::ranges::find(known_variables, name, &Known::name);
  if (one == std::end(known_variables)) return std::nullopt;
  if (auto own = find({one->name.data()})) return own;  // literals, so they end with a zero
  for (const char* other : one->instead) {
    if (other == nullptr) break;
    if (auto found = find({other})) return found;
  }
  return std::nullopt;
}

std::vector<std::string> unknown_names() {
  std::vector<std::string> sentences;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view name = std::string_view(*entry).substr(0, std::string_view(*entry).find('='));
    const bool known = std::ranges::find(known_variables, name, &Known::name) != std::end(known_variables);
    if (name.starts_with(prefix) && !known && !is_made_by_others(name)) sentences.push_back(unknown(name));
  }
  return sentences;
}

}  // namespace hocket::environment
