// TLS 1.3 below the framing of a connection (OpenSSL). Both sides show a certificate, and each checks that the other's
// was signed by the authority that this side trusts.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/spi/status.hpp"

struct ssl_st;
struct ssl_ctx_st;

namespace hocket {

// This side's certificate and key, and the authority that it trusts. Copies are one and the same; any thread may use
// them.
class TlsIdentity {
 public:
  // From the files that HOCKET_TLS_CERT, HOCKET_TLS_KEY and HOCKET_TLS_CA name (PEM). Nothing where none of these is
  // set. Code::invalid_environment where only some are, or a file does not hold what it should.
  static Result<std::optional<TlsIdentity>> from_environment();
  static Result<TlsIdentity> load(const std::string& certificate, const std::string& key, const std::string& authority);

 private:
  friend class TlsStream;
  explicit TlsIdentity(std::shared_ptr<ssl_ctx_st> context) : context_(std::move(context)) {}

  std::shared_ptr<ssl_ctx_st> context_;
};

// What an error tells where one side of a connection speaks TLS and the other does not.
inline constexpr std::string_view how_to_speak_tls =
    "set HOCKET_TLS_CERT, HOCKET_TLS_KEY and HOCKET_TLS_CA on all ranks and for the store, or on none";
// Whether this is how a record of TLS begins: an alert or a handshake (RFC 8446, section 5.1).
inline bool looks_like_tls(std::string_view bytes) {
  return bytes.size() >= 2 && (bytes[0] == 21 || bytes[0] == 22) && bytes[1] == 3;
}

// One connection's encryption. Used by one thread at a time; nothing here waits. The socket is the caller's, and the
// same at every call.
class TlsStream {
 public:
  enum class Side { dialled, accepted };
  enum class Handshake { waiting, done, failed, closed };  // closed: by the other side, without a reason

  TlsStream(const TlsIdentity& identity, Side side);

  // As long as it is waiting, to be called again when the socket can be read, or written where flushing().
  Handshake shake_hands(int fd);
  // After failed or closed, and after send() or receive() failed with EPROTO: a sentence without its end.
  const std::string& problem() const { return problem_; }

  // As sendmsg(2) and recvmsg(2) that do not wait, after the handshake: bytes, or -1 and errno; receive() returns 0 at
  // the end of the connection. What send() took may still be here, while flushing().
  ssize_t send(int fd, std::span<const iovec> pieces);
  ssize_t receive(int fd, std::span<const iovec> pieces);
  // Sends what is still here; 0 or an errno other than EAGAIN.
  int flush(int fd);
  bool flushing() const { return sent_ < encrypted_.size(); }
  // Whether receive() may have something that poll(2) on the socket does not tell of.
  bool pending() const { return pending_; }

 private:
  struct Free {
    void operator()(ssl_st* ssl) const;
  };

  void take_encrypted();
  int fail(int result);

  std::unique_ptr<ssl_st, Free> ssl_;
  std::vector<std::byte> encrypted_;  // to be sent
  std::size_t sent_ = 0;              // of these
  bool pending_ = false;
  std::string problem_;
};

}  // namespace hocket
