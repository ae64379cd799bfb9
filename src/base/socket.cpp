#include "src/base/socket.hpp"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace hocket {
namespace {

std::size_t bytes_of(std::span<const iovec> pieces) {
  std::size_t bytes = 0;
  for (const iovec& piece : pieces) bytes += piece.iov_len;
  return bytes;
}

msghdr message_of(std::span<const iovec> pieces) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces.data());  // the kernel only reads the list
  message.msg_iovlen = pieces.size();
  return message;
}

// Without the price of thread cancellation, which glibc's recv() pays for.
ssize_t receive_from(int fd, void* data, std::size_t bytes) {
  return ::syscall(SYS_recvfrom, fd, data, bytes, MSG_DONTWAIT, nullptr, nullptr);
}

}  // namespace

Socket::Socket(UniqueFd fd, const std::optional<TlsIdentity>& identity, TlsStream::Side side) : fd_(std::move(fd)) {
  if (identity) tls_ = std::make_unique<TlsStream>(*identity, side);
}

const std::string& Socket::problem() const {
  static const std::string none;
  return tls_ ? tls_->problem() : none;
}

ssize_t Socket::send_plain(std::span<const iovec> pieces) const {
  constexpr int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
  const std::size_t bytes = bytes_of(pieces);
  if (bytes > copied_bytes_max) {
    const msghdr message = message_of(pieces);
    return ::sendmsg(fd_.get(), &message, flags);
  }
  std::array<std::byte, copied_bytes_max> together;
  std::byte* end = together.data();
  for (const iovec& piece : pieces) {
    end = std::copy_n(static_cast<const std::byte*>(piece.iov_base), piece.iov_len, end);
  }
  return ::syscall(SYS_sendto, fd_.get(), together.data(), bytes, flags, nullptr, 0);
}

ssize_t Socket::receive_plain(std::span<const iovec> pieces) const {
  if (pieces.size() == 1) return receive_from(fd_.get(), pieces.front().iov_base, pieces.front().iov_len);
  const std::size_t room = bytes_of(pieces);
  if (room > copied_bytes_max) {
    msghdr message = message_of(pieces);
    return ::recvmsg(fd_.get(), &message, MSG_DONTWAIT);
  }
  std::array<std::byte, copied_bytes_max> together;
  const ssize_t taken = receive_from(fd_.get(), together.data(), room);
  std::size_t left = static_cast<std::size_t>(std::max<ssize_t>(taken, 0));
  const std::byte* from = together.data();
  for (const iovec& piece : pieces) {
    const std::size_t bytes = std::min(left, piece.iov_len);
    std::copy_n(from, bytes, static_cast<std::byte*>(piece.iov_base));
    from += bytes;
    left -= bytes;
  }
  return taken;
}

}  // namespace hocket
