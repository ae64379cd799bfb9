// The sockets on which the store's server listens. No program that this process starts inherits them or what they
// accept, and no child that it forks holds them. Included by the server's own sources only (Asio).
#pragma once

#include <functional>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "src/base/fd.hpp"
#include "src/store/asio.hpp"
#include "src/store/endpoint.hpp"

namespace hocket::store {

class Acceptors {
 public:
  // `besides`: other addresses of this machine to listen at.
  Acceptors(asio::io_context& context, std::string host, std::vector<std::string> besides = {})
      : context_(context), host_(std::move(host)), besides_(std::move(besides)) {}

  // See StoreServer::start.
  Status listen(std::uint16_t port);
  std::uint16_t port() const { return port_; }
  // Hands over every connection that comes, from now until close(), on the context's thread; to `admit_last` one after
  // which no descriptor is left. That one says whether it has made room for others. `let_go` ends one that it has kept
  // even so, if there is one, for the next.
  void accept(std::function<void(asio::ip::tcp::socket)> admit, std::function<bool(asio::ip::tcp::socket)> admit_last,
              std::function<void()> let_go);
  // Takes a descriptor for when there is no other, unless it has one: once one may be free again.
  void keep_spare();
  void close();

 private:
  // An acceptor, and the timer with which it pauses when it cannot accept.
  struct Listener {
    explicit Listener(asio::io_context& context) : acceptor(context), timer(context) {}
    asio::ip::tcp::acceptor acceptor;
    asio::steady_timer timer;
  };

  Status listen_on(const std::vector<Endpoint>& endpoints, std::uint16_t port);
  Status explain(const asio::error_code& error, std::uint16_t port) const;
  void accept_at(Listener& listener);
  asio::error_code take_some(Listener& listener);
  void admit(asio::ip::tcp::socket socket, bool is_last);
  void complain(const asio::error_code& error);

  asio::io_context& context_;
  const std::string host_;
  const std::vector<std::string> besides_;
  std::uint16_t port_ = 0;
  std::list<Listener> listeners_;
  std::function<void(asio::ip::tcp::socket)> admit_;
  std::function<bool(asio::ip::tcp::socket)> admit_last_;
  std::function<void()> let_go_;
  UniqueFd spare_;  // makes way for a connection where no other descriptor is left
  bool complained_ = false;
};

}  // namespace hocket::store
