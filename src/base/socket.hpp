// A connected socket, with its encryption where it has one. Nothing here waits.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "src/base/fd.hpp"
#include "src/base/tls.hpp"

namespace hocket {

class Socket {
 public:
  // So much travels as one piece: the kernel takes longer over several than a copy costs.
  static constexpr std::size_t copied_bytes_max = 2048;

  Socket() = default;
  explicit Socket(UniqueFd fd) : fd_(std::move(fd)) {}
  // Encrypted where there is an identity.
  Socket(UniqueFd fd, const std::optional<TlsIdentity>& identity, TlsStream::Side side);

  int fd() const { return fd_.get(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }

  // Before anything is sent or received, to be called as long as it is waiting: whenever poll(2) tells of interest().
  // Done at once where nothing is encrypted.
  TlsStream::Handshake secure() { return tls_ ? tls_->shake_hands(fd_.get()) : TlsStream::Handshake::done; }
  // What TLS found wrong; empty: nothing.
  const std::string& problem() const;

  // As sendmsg(2) and recvmsg(2).
  ssize_t send(std::span<const iovec> pieces) { return tls_ ? tls_->send(fd_.get(), pieces) : send_plain(pieces); }
  ssize_t receive(std::span<const iovec> pieces) {
    return tls_ ? tls_->receive(fd_.get(), pieces) : receive_plain(pieces);
  }
  // Whether bytes that send() took wait here; then flush() is to be called when the socket can be written. It returns 0
  // or an errno.
  bool flushing() const { return tls_ && tls_->flushing(); }
  int flush() { return tls_ ? tls_->flush(fd_.get()) : 0; }
  // Whether receive() may have something that no poll(2) tells of.
  bool pending() const { return tls_ && tls_->pending(); }

 private:
  ssize_t send_plain(std::span<const iovec> pieces) const;
  ssize_t receive_plain(std::span<const iovec> pieces) const;

  UniqueFd fd_;
  std::unique_ptr<TlsStream> tls_;
};

}  // namespace hocket
