// What the environment says of addresses.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/base/environment.hpp"
#include "transports/tcp/interfaces.hpp"

namespace hocket::tcp {
namespace {

constexpr char names_variable[] = "HOCKET_SOCKET_IFNAME";
constexpr char family_variable[] = "HOCKET_SOCKET_FAMILY";
constexpr char external_variable[] = "HOCKET_TCP_ADVERTISE";

// "eth0 (10.0.0.1, fd00::2), lo (127.0.0.1)".
std::string list_of(const std::vector<LocalAddress>& addresses) {
  std::map<std::string, std::string> by_interface;
  for (const LocalAddress& address : addresses) {
    std::string& list = by_interface[address.interface];
    list += fmt::format("{}{}", list.empty() ? "" : ", ", Endpoint{address.ip, 0}.ip_text());
  }
  std::string text;
  for (const auto& [name, list] : by_interface) text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", name, list);
  return text.empty() ? "none" : text;
}

}  // namespace

Result<AddressChoice> AddressChoice::parse(std::string_view names, std::string_view family) {
  AddressChoice choice;
  choice.text_ = names;
  const auto take = [&](char mark) {
    const bool there = names.starts_with(mark);
    if (there) names.remove_prefix(1);
    return there;
  };
  choice.excludes_ = take('^');
  choice.whole_ = take('=');
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(','), names.size());
    if (end > 0) choice.names_.emplace_back(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  if (choice.names_.empty() && !choice.text_.empty()) {
    return Status(Code::invalid_environment,
                  fmt::format("{} is \"{}\", which names no interface; write it like eth0, eth,ib, =eth0 or ^docker,lo",
                              names_variable, choice.text_));
  }
  if (family == "ipv4") {
    choice.family_ = Family::ipv4;
  } else if (family == "ipv6") {
    choice.family_ = Family::ipv6;
  } else if (!family.empty() && family != "any") {
    return Status(Code::invalid_environment,
                  fmt::format("{} is \"{}\"; set it to ipv4, ipv6 or any", family_variable, family));
  }
  return choice;
}

Result<AddressChoice> AddressChoice::from_environment() {
  const auto value = [](const char* variable) {
    const auto found = environment::find({variable});
    return found ? found->value : std::string();
  };
  return parse(value(names_variable), value(family_variable));
}

bool AddressChoice::allows_interface(std::string_view name) const {
  if (names_.empty()) return true;
  const auto means = [&](const std::string& given) { return whole_ ? name == given : name.starts_with(given); };
  return std::any_of(names_.begin(), names_.end(), means) != excludes_;
}

bool AddressChoice::allows(const in6_addr& ip) const {
  return family_ == Family::any || (family_ == Family::ipv4) == Endpoint{ip}.is_ipv4();
}

Result<std::vector<LocalAddress>> AddressChoice::choose(const std::vector<LocalAddress>& there) const {
  std::vector<LocalAddress> chosen;
  bool any_interface = false;
  for (const LocalAddress& address : there) {
    if (!allows_interface(address.interface)) continue;
    any_interface = true;
    if (allows(address.ip)) chosen.push_back(address);
  }
  if (!chosen.empty() || (names_.empty() && family_ == Family::any)) return chosen;
  if (!any_interface) {
    return Status(Code::invalid_environment,
                  fmt::format("{} is \"{}\", but that leaves no interface with an address; there are: {}",
                              names_variable, text_, list_of(there)));
  }
  return Status(Code::invalid_environment,
                fmt::format("{} is \"{}\", but {} has such an address; there are: {}", family_variable,
                            family_ == Family::ipv4 ? "ipv4" : "ipv6",
                            names_.empty() ? "no interface" : fmt::format("none of {}=\"{}\"", names_variable, text_),
                            list_of(there)));
}

Result<std::vector<in6_addr>> external_addresses() {
  std::vector<in6_addr> addresses;
  const auto variable = environment::find({external_variable});
  std::string_view rest = variable ? std::string_view(variable->value) : std::string_view();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string one(rest.substr(0, end));
    in6_addr ip{};
    if (::inet_pton(AF_INET6, one.c_str(), &ip) != 1 && ::inet_pton(AF_INET6, ("::ffff:" + one).c_str(), &ip) != 1) {
      return Status(Code::invalid_environment,
                    fmt::format("{} is \"{}\"; set it to IP addresses between commas, as in 203.0.113.7",
                                external_variable, variable->value));
    }
    addresses.push_back(ip);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return addresses;
}

}  // namespace hocket::tcp
