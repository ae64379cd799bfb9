// Which client owns which key of the store: keys that go when their owner does, and what is to be known then.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/spi/store.hpp"

namespace hocket::store {

using ClientId = std::uint64_t;

// Not thread-safe.
class Claims {
 public:
  // What a client leaves: keys that are nobody's from now on, and what it bequeaths, keys and values.
  struct Left {
    std::vector<std::string> keys;
    std::vector<std::pair<std::string, std::string>> bequests;
  };

  // From now on the key is this client's, and nobody else's.
  void assign(std::string_view key, ClientId client, const Bequest& bequest = {}) {
    release(key);
    Owned owned{.client = client, .bequest = {}};
    if (!bequest.key.empty()) owned.bequest.emplace(bequest.key, bequest.value);
    bytes_ += owned.bytes();
    owner_of_.emplace(key, std::move(owned));
    keys_of_[client].emplace(key);
  }
  // The key is nobody's.
  void release(std::string_view key) {
    const auto owned = owner_of_.find(key);
    if (owned == owner_of_.end()) return;
    const auto keys = keys_of_.find(owned->second.client);
    keys->second.erase(owned->first);
    if (keys->second.empty()) keys_of_.erase(keys);
    bytes_ -= owned->second.bytes();
    owner_of_.erase(owned);
  }
  Left take(ClientId client) {
    Left left;
    const auto keys = keys_of_.extract(client);
    if (keys.empty()) return left;
    for (const std::string& key : keys.mapped()) {
      auto owned = owner_of_.extract(key);
      bytes_ -= owned.mapped().bytes();
      if (owned.mapped().bequest) left.bequests.push_back(std::move(*owned.mapped().bequest));
      left.keys.push_back(std::move(owned.key()));
    }
    return left;
  }
  bool is_owned(std::string_view key) const { return owner_of_.contains(key); }
  bool owns_any(ClientId client) const { return keys_of_.contains(client); }
  // Of all bequests.
  std::size_t bytes() const { return bytes_; }

 private:
  struct Owned {
    ClientId client = 0;
    std::optional<std::pair<std::string, std::string>> bequest;

    std::size_t bytes() const { return bequest ? bequest->first.size() + bequest->second.size() : 0; }
  };
  // The same twice, by key and by client.
  std::map<std::string, Owned, std::less<>> owner_of_;
  std::unordered_map<ClientId, std::set<std::string>> keys_of_;
  std::size_t bytes_ = 0;
};

}  // namespace hocket::store
