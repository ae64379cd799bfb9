#include "src/store/store_url.hpp"

#include <fmt/format.h>

#include <charconv>

#include "src/store/keys.hpp"

namespace hocket::store {
namespace {

constexpr std::string_view tcp_scheme = "tcp://";
constexpr std::string_view file_scheme = "file://";

Status malformed(std::string_view url, std::string_view why) {
  return {Code::invalid_environment,
          fmt::format("the store URL {} {}; write it like tcp://node0:29500, tcp://[::1]:29500 or file:///shared/job42",
                      quoted(url), why)};
}

Result<StoreUrl> parse_tcp(std::string_view url) {
  const std::string_view place = url.substr(tcp_scheme.size());
  const std::size_t colon = place.rfind(':');
  if (colon == std::string_view::npos || place.ends_with(']')) return malformed(url, "names no port");
  std::string_view host = place.substr(0, colon);
  const std::string_view port_text = place.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find_first_of(":[]") != std::string_view::npos) {
    return malformed(url, "has an IPv6 address that is not in brackets");
  }
  if (host.empty()) return malformed(url, "names no host");
  if (host.find_first_of("[]/@? ") != std::string_view::npos || host.find('\0') != std::string_view::npos) {
    return malformed(url, "has a character in its host that cannot stand there");
  }
  std::uint16_t port = 0;
  const char* end = port_text.data() + port_text.size();
  const auto [rest, error] = std::from_chars(port_text.data(), end, port);
  if (error != std::errc() || rest != end || port == 0) return malformed(url, "has a port that is not 1 to 65535");
  return StoreUrl{.host = std::string(host), .port = port};
}

}  // namespace

Result<StoreUrl> parse_store_url(std::string_view url) {
  if (url.starts_with(tcp_scheme)) return parse_tcp(url);
  if (!url.starts_with(file_scheme)) return malformed(url, "begins with neither tcp:// nor file://");
  const std::string_view path = url.substr(file_scheme.size());
  if (!path.starts_with('/')) return malformed(url, "has no absolute path: three slashes follow file:");
  if (path.find('\0') != std::string_view::npos) return malformed(url, "has a zero byte in its path");
  return StoreUrl{.path = std::string(path)};
}

}  // namespace hocket::store
