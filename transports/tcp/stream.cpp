#include "transports/tcp/stream.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace hocket::tcp {

short Stream::interest(bool link_ended) const {
  short events = end_interest(link_ended);
  const bool hears_behind = reads_ahead && !left && inbox.may_read_ahead();
  if (!ended() && (link_ended || !unexpected() || hears_behind)) events |= POLLIN;
  if (attached() && flushing()) events |= POLLOUT;
  return events;
}

short Stream::end_interest(bool link_ended) const {
  if (ended() || (left && !link_ended)) return 0;
  return link_ended && flushing() ? POLLRDHUP | POLLOUT : POLLRDHUP;
}

std::size_t Stream::flush(bool last) {
  if (!attached() || shut) return 0;
  auto progress = outbox.flush(socket);
  if (outbox.empty() && progress.error == 0) progress.error = socket.flush();
  if (progress.error != 0) send_error = progress.error;
  if (last && !flushing()) {
    shut = true;
    ::shutdown(socket.fd(), SHUT_WR);
  }
  return progress.completed;
}

void Stream::cut() {
  outbox.clear();  // without the rest of a message that is half sent
  if (!attached() || shut) return;
  shut = true;
  ::shutdown(socket.fd(), SHUT_WR);
}

void Stream::drop_sends(const Status& why) {
  outbox.abandon(why);
  outbox.clear();
}

void Stream::drain(std::span<std::byte> staging) {
  for (int i = 0; i < 64; ++i) {
    const ssize_t taken = ::recv(socket.fd(), staging.data(), staging.size(), MSG_DONTWAIT);
    if (taken > 0 || (taken < 0 && errno == EINTR)) continue;
    if (taken == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) drained = true;
    return;
  }
}

}  // namespace hocket::tcp
