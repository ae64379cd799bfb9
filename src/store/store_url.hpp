// The URL of a store, taken apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/spi/status.hpp"

namespace hocket::store {

// What only a Redis server needs.
struct RedisAccess {
  std::string user = {}, password = {};  // empty: none
  int database = 0;
  std::string prefix = {};  // of all keys
};

struct StoreUrl {
  std::string host = {};  // of tcp:// and redis://; an IPv6 address without its brackets
  std::uint16_t port = 0;
  std::string path = {};                  // of file://; empty where there is a host
  std::optional<RedisAccess> redis = {};  // of redis://
};

// For messages: "…" for what stands before the last '@', whatever the scheme, as nobody is to read a password in a log.
std::string without_password(std::string_view url);

// Code::invalid_environment says what is wrong with it, and how one is written.
Result<StoreUrl> parse_store_url(std::string_view url);

}  // namespace hocket::store
