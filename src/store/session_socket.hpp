// The server's end of one connection: Asio waits, and bytes are encrypted where the server has an identity. Included by
// the server's own sources only (Asio).
#pragma once

#include <cerrno>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/tls.hpp"
#include "src/store/asio.hpp"

namespace hocket::store {

// Used on the server's thread. What waits here belongs to an owner that lives as long as the callbacks that it hands
// over.
class SessionSocket {
 public:
  SessionSocket(asio::ip::tcp::socket socket, const std::optional<TlsIdentity>& identity);

  asio::ip::tcp::socket& plain() { return socket_; }
  int fd() { return socket_.native_handle(); }
  void close();

  // Calls `then(error)` once receive() may have something.
  template <class Then>
  void when_readable(Then then);
  // Bytes; 0: none now. Nothing: the connection is over, with problem() where TLS found it wrong.
  std::optional<std::size_t> receive(std::span<char> into);
  // Sends all, then calls `then(error)`. The buffers' owner keeps them until then.
  template <class Then>
  void write(const std::vector<asio::const_buffer>& buffers, Then then);
  const std::string& problem() const { return problem_; }

 private:
  // Whether nothing is left to send; an error where that cannot be.
  std::pair<bool, asio::error_code> send_encrypted(std::vector<iovec>& rest);
  template <class Then>
  void write_encrypted(std::vector<iovec> rest, Then then);
  bool secure();

  asio::ip::tcp::socket socket_;
  std::optional<TlsStream> tls_;
  bool secured_ = false;
  std::string problem_;
};

template <class Then>
void SessionSocket::when_readable(Then then) {
  if (tls_ && secured_ && tls_->pending()) {
    asio::post(socket_.get_executor(), [then = std::move(then)] { then(asio::error_code()); });
    return;
  }
  const bool handshake_is_stuck = tls_ && !secured_ && tls_->flushing();
  socket_.async_wait(handshake_is_stuck ? asio::ip::tcp::socket::wait_write : asio::ip::tcp::socket::wait_read,
                     std::move(then));
}

template <class Then>
void SessionSocket::write(const std::vector<asio::const_buffer>& buffers, Then then) {
  if (!tls_) {
    asio::async_write(socket_, buffers,
                      [then = std::move(then)](const asio::error_code& error, std::size_t) { then(error); });
    return;
  }
  std::vector<iovec> rest;
  for (const asio::const_buffer& buffer : buffers) rest.push_back({const_cast<void*>(buffer.data()), buffer.size()});
  write_encrypted(std::move(rest), std::move(then));
}

template <class Then>
void SessionSocket::write_encrypted(std::vector<iovec> rest, Then then) {
  const auto [done, error] = send_encrypted(rest);
  if (done || error) {
    asio::post(socket_.get_executor(), [then = std::move(then), error = error] { then(error); });
    return;
  }
  socket_.async_wait(asio::ip::tcp::socket::wait_write,
                     [this, rest = std::move(rest), then = std::move(then)](const asio::error_code& failed) mutable {
                       if (failed) return then(failed);
                       write_encrypted(std::move(rest), std::move(then));
                     });
}

}  // namespace hocket::store
