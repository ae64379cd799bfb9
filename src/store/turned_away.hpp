// TurnedAway: connections for which the store's server has no room, until their clients know why. Included by the
// server's own sources only (Asio).
#pragma once

#include <map>
#include <memory>
#include <string>

#include "src/store/asio.hpp"
#include "src/store/session.hpp"

namespace hocket::store {

// Used on the server's thread.
class TurnedAway {
 public:
  // `trust` and `listener`, which hears of those over TLS, outlive it.
  TurnedAway(const Trust& trust, SessionListener& listener) : trust_(trust), listener_(listener) {}

  // Ends a connection, with these words if that can be. `id`: of the session, if it takes one.
  void tell(asio::ip::tcp::socket socket, ClientId id, wire::Verdict verdict, const std::string& why);
  bool has(ClientId id) const { return sessions_.contains(id); }
  // Whether this session was one of them; it has left.
  bool forget(ClientId id) { return sessions_.erase(id) > 0; }
  // If there is one.
  void close_oldest();
  void close_all();

 private:
  const Trust& trust_;
  SessionListener& listener_;
  std::map<ClientId, std::shared_ptr<Session>> sessions_;  // those that came first have the lowest ids
};

}  // namespace hocket::store
