#include "transports/tcp/stream.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace hocket::tcp {

short Stream::interest(bool link_ended) const {
  short events = end_interest(link_ended);
  if (!ended() && (link_ended || !early())) events |= POLLIN;
  if (attached() && !outbox.empty()) events |= POLLOUT;
  return events;
}

std::size_t Stream::flush(bool last) {
  if (!attached() || shut) return 0;
  const auto progress = outbox.flush(fd.get());
  if (progress.error != 0) send_error = progress.error;
  if (last && outbox.empty()) {
    shut = true;
    ::shutdown(fd.get(), SHUT_WR);
  }
  return progress.completed;
}

void Stream::drain(std::span<std::byte> staging) {
  for (int i = 0; i < 64; ++i) {
    const ssize_t taken = ::recv(fd.get(), staging.data(), staging.size(), MSG_DONTWAIT);
    if (taken > 0 || (taken < 0 && errno == EINTR)) continue;
    if (taken == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) drained = true;
    return;
  }
}

}  // namespace hocket::tcp
