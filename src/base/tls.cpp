#include "src/base/tls.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "src/base/environment.hpp"

namespace hocket {
namespace {

constexpr std::size_t record_bytes = 16384;                     // of plain text in one record (RFC 8446, section 5.1)
constexpr std::size_t held_bytes_max = std::size_t{256} << 10;  // encrypted and not sent: then the kernel comes first

// A fatal alert (RFC 8446, section 6.2).
constexpr std::array protocol_version_alert = {std::byte{21}, std::byte{3}, std::byte{3}, std::byte{0},
                                               std::byte{2},  std::byte{2}, std::byte{70}};

// OpenSSL's own words for what went wrong last on this thread, which forgets them.
std::string last_words() {
  const unsigned long error = ::ERR_peek_last_error();
  ::ERR_clear_error();
  const char* const words = ::ERR_reason_error_string(error);
  return words != nullptr ? words : "an unknown reason";
}

// What is left of some memory that lies in pieces.
class Pieces {
 public:
  explicit Pieces(std::span<const iovec> pieces) : pieces_(pieces) {}

  // Empty: nothing is left.
  std::span<std::byte> next() {
    while (!pieces_.empty() && at_ == pieces_.front().iov_len) {
      pieces_ = pieces_.subspan(1);
      at_ = 0;
    }
    if (pieces_.empty()) return {};
    return {static_cast<std::byte*>(pieces_.front().iov_base) + at_, pieces_.front().iov_len - at_};
  }
  void took(std::size_t bytes) { at_ += bytes; }
  // As much as there is room for.
  std::size_t copy_to(std::span<std::byte> room) {
    std::size_t copied = 0;
    while (copied < room.size() && !next().empty()) {
      const auto part = next().first(std::min(next().size(), room.size() - copied));
      std::ranges::copy(part, room.begin() + static_cast<std::ptrdiff_t>(copied));
      took(part.size());
      copied += part.size();
    }
    return copied;
  }

 private:
  std::span<const iovec> pieces_;
  std::size_t at_ = 0;  // in the first of them
};

Status bad_file(const char* variable, const std::string& path, const char* what) {
  return {Code::invalid_environment,
          fmt::format("{} is \"{}\", which cannot be used as {} ({}): give the path of a PEM file", variable, path,
                      what, last_words())};
}

}  // namespace

Result<std::optional<TlsIdentity>> TlsIdentity::from_environment() {
  const auto certificate = environment::find({"HOCKET_TLS_CERT"});
  const auto key = environment::find({"HOCKET_TLS_KEY"});
  const auto authority = environment::find({"HOCKET_TLS_CA"});
  if (!certificate && !key && !authority) return std::optional<TlsIdentity>();
  if (!certificate || !key || !authority) {
    return Status(Code::invalid_environment,
                  "HOCKET_TLS_CERT, HOCKET_TLS_KEY and HOCKET_TLS_CA belong together: set all three, or none");
  }
  auto identity = load(certificate->value, key->value, authority->value);
  if (!identity) return identity.status();
  return std::optional<TlsIdentity>(std::move(*identity));
}

Result<TlsIdentity> TlsIdentity::load(const std::string& certificate, const std::string& key,
                                      const std::string& authority) {
  const std::shared_ptr<SSL_CTX> context(::SSL_CTX_new(::TLS_method()), ::SSL_CTX_free);
  if (!context) return Status(Code::out_of_resources, "OpenSSL has no memory for a TLS context");
  SSL_CTX* const raw = context.get();
  if (::SSL_CTX_set_min_proto_version(raw, TLS1_3_VERSION) != 1) {
    return Status(Code::unsupported, "the OpenSSL that is installed has no TLS 1.3: install one from 1.1.1 on");
  }
  // The goodbye of the protocol above tells an end from a cut, and a session is never resumed.
  ::SSL_CTX_set_options(raw, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_TICKET);
  ::SSL_CTX_set_num_tickets(raw, 0);
  ::SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  ::SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);
  ::SSL_CTX_set_verify(raw, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  // A rank dials and is dialled with one certificate, whatever of the two that was meant for.
  ::SSL_CTX_set_purpose(raw, X509_PURPOSE_ANY);
  if (::SSL_CTX_use_certificate_chain_file(raw, certificate.c_str()) != 1) {
    return bad_file("HOCKET_TLS_CERT", certificate, "a certificate");
  }
  if (::SSL_CTX_use_PrivateKey_file(raw, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return bad_file("HOCKET_TLS_KEY", key, "the certificate's private key");
  }
  if (::SSL_CTX_load_verify_locations(raw, authority.c_str(), nullptr) != 1) {
    return bad_file("HOCKET_TLS_CA", authority, "the certificates of an authority");
  }
  return TlsIdentity(context);
}

void TlsStream::Free::operator()(ssl_st* ssl) const {
  ::SSL_free(ssl);
}

TlsStream::TlsStream(const TlsIdentity& identity, Side side) : ssl_(::SSL_new(identity.context_.get())) {
  BIO* const in = ::BIO_new(::BIO_s_mem());
  BIO* const out = ::BIO_new(::BIO_s_mem());
  if (!ssl_ || in == nullptr || out == nullptr) {
    ::BIO_free(in);
    ::BIO_free(out);
    throw std::bad_alloc();
  }
  ::SSL_set_bio(ssl_.get(), in, out);  // which own them now
  if (side == Side::dialled) {
    ::SSL_set_connect_state(ssl_.get());
  } else {
    ::SSL_set_accept_state(ssl_.get());
  }
}

// What OpenSSL has encrypted goes behind what waits to be sent.
void TlsStream::take_encrypted() {
  BIO* const out = ::SSL_get_wbio(ssl_.get());
  char* data = nullptr;
  const long bytes = BIO_get_mem_data(out, &data);
  if (bytes <= 0) return;
  const auto* const begin = reinterpret_cast<const std::byte*>(data);
  encrypted_.insert(encrypted_.end(), begin, begin + bytes);
  (void)BIO_reset(out);
}

int TlsStream::flush(int fd) {
  int error = 0;
  while (flushing()) {
    const ssize_t sent = ::send(fd, encrypted_.data() + sent_, encrypted_.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      sent_ += static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) {
      return 0;
    } else if (errno != EINTR) {
      error = errno;
      break;
    }
  }
  encrypted_.clear();  // nobody takes what is left after an error
  sent_ = 0;
  return error;
}

// The errno for a result of OpenSSL's that is none of the good ones. EAGAIN: it wants more of the peer's bytes.
int TlsStream::fail(int result) {
  switch (::SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ: return EAGAIN;
    case SSL_ERROR_ZERO_RETURN: return 0;
    default: break;
  }
  const long verdict = ::SSL_get_verify_result(ssl_.get());
  problem_ = verdict != X509_V_OK
                 ? fmt::format("its certificate was not accepted ({})", ::X509_verify_cert_error_string(verdict))
                 : fmt::format("TLS failed ({})", last_words());
  ::ERR_clear_error();
  return EPROTO;
}

TlsStream::Handshake TlsStream::shake_hands(int fd) {
  for (;;) {
    ::ERR_clear_error();
    const int result = ::SSL_do_handshake(ssl_.get());
    const int error = result == 1 ? 0 : fail(result);
    take_encrypted();  // an alert, too, tells the peer why
    // OpenSSL has no word for those who do not speak TLS at all.
    if (error == EPROTO && !flushing()) encrypted_.assign(protocol_version_alert.begin(), protocol_version_alert.end());
    const int unsent = flush(fd);
    if (result == 1 && unsent == 0) {
      pending_ = true;  // what the peer has said after its handshake may have come with it
      return Handshake::done;
    }
    if (error == EPROTO) return Handshake::failed;
    std::array<std::byte, record_bytes> block;
    const ssize_t taken = ::recv(fd, block.data(), block.size(), MSG_DONTWAIT);
    if (taken > 0) {
      ::BIO_write(::SSL_get_rbio(ssl_.get()), block.data(), static_cast<int>(taken));
      continue;
    }
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0 && unsent == 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Handshake::waiting;
    problem_ = fmt::format("it closed the connection during the TLS handshake; {}", how_to_speak_tls);
    return Handshake::closed;
  }
}

ssize_t TlsStream::send(int fd, std::span<const iovec> pieces) {
  if (const int error = flush(fd); error != 0) {
    errno = error;
    return -1;
  }
  std::array<std::byte, record_bytes> record;
  std::size_t taken = 0;
  for (Pieces unread(pieces); encrypted_.size() < held_bytes_max;) {
    const std::size_t bytes = unread.copy_to(record);
    if (bytes == 0) break;
    ::ERR_clear_error();
    // It writes to memory, which is all that it may lack.
    if (::SSL_write(ssl_.get(), record.data(), static_cast<int>(bytes)) <= 0) throw std::bad_alloc();
    taken += bytes;
    take_encrypted();
  }
  const int error = flush(fd);
  if (taken > 0) return static_cast<ssize_t>(taken);
  errno = error != 0 ? error : EAGAIN;
  return -1;
}

ssize_t TlsStream::receive(int fd, std::span<const iovec> pieces) {
  std::size_t taken = 0;
  const auto result = [&](bool more, int error) -> ssize_t {
    pending_ = more;
    take_encrypted();  // answers to what the peer's TLS asks, for the next flush
    if (taken > 0 || error == 0) return static_cast<ssize_t>(taken);
    errno = error;
    return -1;
  };
  for (Pieces unfilled(pieces); !unfilled.next().empty();) {
    ::ERR_clear_error();
    const std::span<std::byte> room = unfilled.next();
    const int got = ::SSL_read(ssl_.get(), room.data(), static_cast<int>(std::min(room.size(), record_bytes)));
    if (got > 0) {
      unfilled.took(static_cast<std::size_t>(got));
      taken += static_cast<std::size_t>(got);
      continue;
    }
    const int error = fail(got);
    if (error != EAGAIN) return result(taken > 0, error);  // else the next call tells
    std::array<std::byte, 4 * record_bytes> block;
    const ssize_t came = ::recv(fd, block.data(), block.size(), MSG_DONTWAIT);
    if (came <= 0) return result(false, came < 0 ? errno : 0);
    ::BIO_write(::SSL_get_rbio(ssl_.get()), block.data(), static_cast<int>(came));
  }
  return result(true, 0);
}

}  // namespace hocket
