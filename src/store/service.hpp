// What the store's server does with requests, without sockets: one dictionary, and the gets that wait for a key.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <unordered_map>

#include "src/store/dictionary.hpp"
#include "src/store/wire.hpp"

namespace hocket::store {

using ClientId = std::uint64_t;

// Not thread-safe.
class Service {
 public:
  // Takes one answer to a client. May not call back into the service.
  using Answer = std::function<void(ClientId client, std::uint64_t request, Code code, Dictionary::Value payload)>;

  explicit Service(Answer answer) : answer_(std::move(answer)) {}

  // Answers at once, except for a get of an absent key: that is answered when the key is set.
  void handle(ClientId client, const wire::Request& request);
  // Forgets what the client waits for.
  void leave(ClientId client);

  std::size_t parked() const { return parked_; }

  // More waiting gets of one client are refused with Code::out_of_resources.
  static constexpr std::size_t parked_by_client_max = 16384;

 private:
  using Waiter = std::pair<ClientId, std::uint64_t>;

  void get(ClientId client, const wire::Request& request);
  void park(ClientId client, const wire::Request& request);
  void unpark(ClientId client, std::uint64_t request);
  void wake(std::string_view key);
  void list(ClientId client, const wire::Request& request);
  void fail(ClientId client, std::uint64_t request, const Status& status);

  Answer answer_;
  Dictionary dictionary_;
  // The same waits twice, by key and by client.
  std::map<std::string, std::set<Waiter>, std::less<>> waiting_;
  std::unordered_map<ClientId, std::unordered_map<std::uint64_t, std::string>> waits_of_;
  std::size_t parked_ = 0;
};

}  // namespace hocket::store
