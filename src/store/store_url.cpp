#include "src/store/store_url.hpp"

#include <fmt/format.h>

#include <charconv>

#include "src/store/keys.hpp"

namespace hocket::store {
namespace {

constexpr std::string_view tcp_scheme = "tcp://";
constexpr std::string_view file_scheme = "file://";
constexpr std::string_view redis_scheme = "redis://";

Status malformed(std::string_view url, std::string_view why) {
  return {
      Code::invalid_environment,
      fmt::format("the store URL {} {}; write it like tcp://node0:29500, tcp://[::1]:29500, file:///shared/job42 or "
                  "redis://node0:6379",
                  in_quotes(without_password(url)), why)};
}

// "host:port" or "[v6]:port".
Result<StoreUrl> parse_place(std::string_view url, std::string_view place) {
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

// With each %XX as the byte that it stands for.
std::optional<std::string> decoded(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      bytes += text[i];
      continue;
    }
    unsigned byte = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() < 2 || error != std::errc() || rest != digits.data() + 2) return std::nullopt;
    bytes += static_cast<char>(byte);
    i += 2;
  }
  return bytes;
}

// redis://[[user]:password@]host:port[/database][?prefix=TEXT]
Result<StoreUrl> parse_redis(std::string_view url) {
  std::string_view rest = url.substr(redis_scheme.size());
  std::optional<std::string> user(""), password(""), prefix("");
  int database = 0;
  if (const auto query = rest.find('?'); query != std::string_view::npos) {
    if (!rest.substr(query).starts_with("?prefix=")) return malformed(url, "asks for something else than ?prefix=");
    prefix = decoded(rest.substr(query + 8));
    rest = rest.substr(0, query);
  }
  if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
    const std::size_t colon = rest.substr(0, at).find(':');
    if (colon == std::string_view::npos) return malformed(url, "has no password behind its user");
    user = decoded(rest.substr(0, colon));
    password = decoded(rest.substr(colon + 1, at - colon - 1));
    rest = rest.substr(at + 1);
  }
  if (!user || !password || !prefix) return malformed(url, "has a % without two hexadecimal digits behind it");
  if (prefix->size() > 256) return malformed(url, "has a prefix of more than 256 bytes");
  if (const auto slash = rest.find('/'); slash != std::string_view::npos) {
    const std::string_view number = rest.substr(slash + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), database);
    const bool whole = error == std::errc() && end == number.data() + number.size() && database >= 0;
    if (!number.empty() && !whole) return malformed(url, "has a database that is no number");
    rest = rest.substr(0, slash);
  }
  auto place = parse_place(url, rest);
  if (!place) return place;
  place->redis = {.user = *user, .password = *password, .database = database, .prefix = *prefix};
  return place;
}

}  // namespace

std::string without_password(std::string_view url) {
  const std::size_t at = url.rfind('@');
  if (at == std::string_view::npos) return std::string(url);
  const std::size_t colon = url.substr(0, at).find("://");
  const bool whole_scheme =
      colon != std::string_view::npos && url.substr(0, colon).find_first_of(":/@") == std::string_view::npos;
  return std::string(url.substr(0, whole_scheme ? colon + 3 : 0)) + "…" + std::string(url.substr(at));
}

Result<StoreUrl> parse_store_url(std::string_view url) {
  if (url.starts_with(tcp_scheme)) return parse_place(url, url.substr(tcp_scheme.size()));
  if (url.starts_with(redis_scheme)) return parse_redis(url);
  if (!url.starts_with(file_scheme)) return malformed(url, "begins with none of tcp://, file:// and redis://");
  const std::string_view path = url.substr(file_scheme.size());
  if (!path.starts_with('/')) return malformed(url, "has no absolute path: three slashes follow file:");
  if (path.find('\0') != std::string_view::npos) return malformed(url, "has a zero byte in its path");
  return StoreUrl{.path = std::string(path)};
}

}  // namespace hocket::store
