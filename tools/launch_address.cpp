#include "tools/launch_address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <optional>
#include <vector>

#include "transports/tcp/endpoint.hpp"
#include "transports/tcp/interfaces.hpp"

namespace hocket::launch {
namespace {

// As the interfaces' addresses are kept: IPv4 is mapped.
std::optional<in6_addr> parse(const std::string& text) {
  in6_addr ip{};
  const std::string mapped = text.find(':') == std::string::npos ? "::ffff:" + text : text.substr(0, text.find('%'));
  if (::inet_pton(AF_INET6, mapped.c_str(), &ip) == 1) return ip;
  return std::nullopt;
}

std::string text_of(const tcp::LocalAddress& address) {
  const std::uint32_t scope = IN6_IS_ADDR_LINKLOCAL(&address.ip) ? address.scope : 0;
  return tcp::Endpoint{.ip = address.ip, .scope = scope}.ip_text();
}

}  // namespace

bool is_own_address(const std::string& text) {
  const auto ip = parse(text);
  const auto same = [&](const tcp::LocalAddress& address) { return IN6_ARE_ADDR_EQUAL(&address.ip, &*ip); };
  return ip && std::ranges::any_of(tcp::addresses_of_this_host(), same);
}

bool is_this_host(const std::string& name) {
  char own[HOST_NAME_MAX + 1] = {};
  ::gethostname(own, sizeof(own) - 1);
  const std::string whole = own;
  return name == "localhost" || (!whole.empty() && (name == whole || name == whole.substr(0, whole.find('.')))) ||
         is_own_address(name);
}

Result<std::string> own_address(const std::string& text) {
  if (is_own_address(text)) return text;
  std::vector<tcp::LocalAddress> there = tcp::addresses_of_this_host();
  const auto ipv4_first = [](const tcp::LocalAddress& address) { return !IN6_IS_ADDR_V4MAPPED(&address.ip); };
  std::ranges::stable_sort(there, {}, ipv4_first);
  const auto found = std::ranges::find(there, text, &tcp::LocalAddress::interface);
  if (found != there.end()) return text_of(*found);
  std::string all;
  for (const tcp::LocalAddress& address : there) all += fmt::format(" {} {},", address.interface, text_of(address));
  if (!all.empty()) all.pop_back();
  return Status(Code::invalid_argument,
                fmt::format("--address: '{}' is neither an address nor an interface of this host, which has{}", text,
                            all.empty() ? " none" : all));
}

}  // namespace hocket::launch
