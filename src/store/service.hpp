// What the store's server does with requests, without sockets: one dictionary, whose keys some clients own, and the
// requests that wait for keys.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <unordered_map>

#include "src/store/claims.hpp"
#include "src/store/dictionary.hpp"
#include "src/store/snapshot.hpp"
#include "src/store/wire.hpp"

namespace hocket::store {

// Not thread-safe.
class Service {
 public:
  // Takes one answer to a client. May not call back into the service.
  using Answer = std::function<void(ClientId client, std::uint64_t request, Code code, Dictionary::Value payload)>;

  explicit Service(Answer answer, const ServerLimits& limits = {})
      : answer_(std::move(answer)), waiting_bytes_max_(limits.waiting_bytes), dictionary_(limits.dictionary) {}

  // Answers at once, but a get of an absent key when the key is set, and an allgather when its outcome is.
  void handle(ClientId client, const wire::Request& request);
  // Forgets what the client waits for, removes the keys that it claimed, and sets what it bequeaths.
  void leave(ClientId client);
  // All clients are about to leave because the server does, which says nothing about them.
  void end() { ends_ = true; }

  // Whether the client owns a key or waits for one.
  bool is_engaged(ClientId client) const { return claims_.owns_any(client) || waits_of_.contains(client); }
  const Dictionary& dictionary() const { return dictionary_; }
  // Before there are clients.
  Status load(const std::string& snapshot) { return load_snapshot(snapshot, dictionary_); }
  // All but the keys that a client owns, which end with it.
  Status save(const std::string& snapshot) const {
    return save_snapshot(snapshot, dictionary_, [this](std::string_view key) { return claims_.is_owned(key); });
  }
  // Requests that wait for keys.
  std::size_t parked() const { return parked_; }

  // More waiting requests of one client are refused with Code::out_of_resources.
  static constexpr std::size_t parked_by_client_max = 16384;

 private:
  using Waiter = std::pair<ClientId, std::uint64_t>;

  // An allgather that waits.
  struct Meeting {
    std::string prefix;
    std::size_t members = 0;
    std::string complete;
    std::vector<Rank> wanted;
  };
  // What one request waits for: a key, which is the outcome of an allgather.
  struct Wait {
    std::string key;
    std::optional<Meeting> meeting = {};

    std::size_t cost() const;  // in bytes, about
  };
  // All allgathers of one prefix, by the members that they wait for.
  struct Counting {
    std::size_t present = 0;
    std::set<std::pair<std::size_t, Waiter>> waiters;
  };

  void get(ClientId client, const wire::Request& request);
  void set(ClientId client, const wire::Request& request);
  void swap(ClientId client, const wire::Request& request);
  void allgather(ClientId client, const wire::Request& request);
  // False: it may not wait, and has been told.
  bool park(ClientId client, std::uint64_t request, Wait wait);
  void unpark(ClientId client, std::uint64_t request);
  void forget(const Wait& wait, Waiter waiter);
  Wait take_wait(Waiter waiter);
  void answer_waiter(Waiter waiter, const Dictionary::Value& value);
  void answer_meeting(Waiter waiter, const Meeting& meeting, const Dictionary::Value& outcome);
  void complete(Waiter waiter);
  void inherit(const std::string& key, const std::string& value);
  // After a change of the key, of which the dictionary held `keys_before` keys.
  void changed(std::string_view key, std::size_t keys_before);
  void count(std::string_view key, std::ptrdiff_t change);
  void complete_if_all_there(const std::string& prefix);
  void remove_key(std::string_view key);
  void list(ClientId client, const wire::Request& request);
  void fail(ClientId client, std::uint64_t request, const Status& status);

  Answer answer_;
  const std::size_t waiting_bytes_max_;
  Dictionary dictionary_;
  Claims claims_;
  bool ends_ = false;
  // The same waits twice, by key and by client.
  std::map<std::string, std::set<Waiter>, std::less<>> waiting_;
  std::map<std::string, Counting, std::less<>> counting_;
  std::unordered_map<ClientId, std::unordered_map<std::uint64_t, Wait>> waits_of_;
  std::size_t parked_ = 0, parked_bytes_ = 0;
};

}  // namespace hocket::store
