#include "src/store/session_socket.hpp"

#include <sys/socket.h>

#include <algorithm>

namespace hocket::store {

SessionSocket::SessionSocket(asio::ip::tcp::socket socket, const std::optional<TlsIdentity>& identity)
    : socket_(std::move(socket)) {
  if (identity) tls_.emplace(*identity, TlsStream::Side::accepted);
}

void SessionSocket::close() {
  end(socket_);
}

// Whether there is nothing, or nothing more, to be done before bytes can be received.
bool SessionSocket::secure() {
  if (!tls_ || secured_) return true;
  const auto now = tls_->shake_hands(fd());
  const bool goes_on = now == TlsStream::Handshake::done || now == TlsStream::Handshake::waiting;
  if (!goes_on) problem_ = tls_->problem();
  secured_ = now == TlsStream::Handshake::done;
  return secured_;
}

std::optional<std::size_t> SessionSocket::receive(std::span<char> into) {
  if (!secure()) return problem_.empty() ? std::optional<std::size_t>(0) : std::nullopt;
  const iovec room{into.data(), into.size()};
  const ssize_t got = tls_ ? tls_->receive(fd(), {&room, 1}) : ::recv(fd(), into.data(), into.size(), MSG_DONTWAIT);
  if (got > 0) return static_cast<std::size_t>(got);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return 0;
  if (got < 0 && errno == EPROTO && tls_) problem_ = tls_->problem();
  return std::nullopt;
}

std::pair<bool, asio::error_code> SessionSocket::send_encrypted(std::vector<iovec>& rest) {
  while (!rest.empty()) {
    const ssize_t sent = tls_->send(fd(), rest);
    if (sent < 0 && errno == EAGAIN) return {false, {}};
    if (sent < 0) return {false, asio::error_code(errno, asio::system_category())};
    auto left = static_cast<std::size_t>(sent);
    while (!rest.empty() && left >= rest.front().iov_len) {
      left -= rest.front().iov_len;
      rest.erase(rest.begin());
    }
    if (left > 0) rest.front() = {static_cast<char*>(rest.front().iov_base) + left, rest.front().iov_len - left};
  }
  const int error = tls_->flush(fd());
  return {error == 0 && !tls_->flushing(), asio::error_code(error, asio::system_category())};
}

}  // namespace hocket::store
