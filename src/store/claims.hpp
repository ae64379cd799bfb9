// Which client owns which key of the store: keys that go when their owner does.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

namespace hocket::store {

using ClientId = std::uint64_t;

// Not thread-safe.
class Claims {
 public:
  // From now on the key is this client's, and nobody else's.
  void assign(std::string_view key, ClientId client) {
    release(key);
    owner_of_.emplace(key, client);
    keys_of_[client].emplace(key);
  }
  // The key is nobody's.
  void release(std::string_view key) {
    const auto owned = owner_of_.find(key);
    if (owned == owner_of_.end()) return;
    const auto keys = keys_of_.find(owned->second);
    keys->second.erase(owned->first);
    if (keys->second.empty()) keys_of_.erase(keys);
    owner_of_.erase(owned);
  }
  // The client's keys, which are nobody's from now on.
  std::set<std::string> take(ClientId client) {
    auto keys = keys_of_.extract(client);
    if (keys.empty()) return {};
    for (const std::string& key : keys.mapped()) owner_of_.erase(key);
    return std::move(keys.mapped());
  }
  bool is_owned(std::string_view key) const { return owner_of_.contains(key); }
  bool owns_any(ClientId client) const { return keys_of_.contains(client); }

 private:
  // The same twice, by key and by client.
  std::map<std::string, ClientId, std::less<>> owner_of_;
  std::unordered_map<ClientId, std::set<std::string>> keys_of_;
};

}  // namespace hocket::store
