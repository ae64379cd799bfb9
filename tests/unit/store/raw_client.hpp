// A socket without manners, for tests that break the protocol; and one that only listens.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/fd.hpp"
#include "src/store/wire.hpp"

namespace hocket::store {

inline sockaddr_in local_address(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

class RawClient {
 public:
  explicit RawClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in address = local_address(port);
    connected_ = ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  explicit RawClient(UniqueFd socket) : socket_(std::move(socket)), connected_(true) {}

  bool connected() const { return connected_; }
  int fd() const { return socket_.get(); }
  // Gives up where the other side has closed.
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  // What comes until the other side closes; nothing where it does not within a minute.
  std::optional<std::string> receive_all() {
    std::string all;
    while (receive_some(all)) {
    }
    return closed_ ? std::optional<std::string>(all) : std::nullopt;
  }
  // Reads `bytes` bytes, or as many as come before the end.
  std::string receive(std::size_t bytes) {
    while (received_.size() < bytes && receive_some(received_)) {
    }
    std::string front = received_.substr(0, bytes);
    received_.erase(0, bytes);
    return front;
  }
  void greet() {
    send(wire::encode_greeting(wire::client_magic, {}));
    receive(wire::greeting_bytes);
  }

 private:
  bool receive_some(std::string& to) {
    pollfd entry{socket_.get(), POLLIN, 0};
    if (::poll(&entry, 1, 60'000) <= 0) return false;
    std::array<char, 65536> block;
    const ssize_t got = ::recv(socket_.get(), block.data(), block.size(), 0);
    closed_ = got <= 0;
    if (got > 0) to.append(block.data(), static_cast<std::size_t>(got));
    return got > 0;
  }

  UniqueFd socket_;
  bool connected_ = false, closed_ = false;
  std::string received_;
};

// Bound to a free port of 127.0.0.1; listens from listen() on.
class RawListener {
 public:
  RawListener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = local_address(0);
    (void)::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    socklen_t bytes = sizeof address;
    (void)::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &bytes);
    port_ = ntohs(address.sin_port);
  }
  std::uint16_t port() const { return port_; }
  void listen() { (void)::listen(socket_.get(), 16); }
  RawClient accept() { return RawClient(UniqueFd(::accept(socket_.get(), nullptr, nullptr))); }

 private:
  UniqueFd socket_;
  std::uint16_t port_ = 0;
};

}  // namespace hocket::store
