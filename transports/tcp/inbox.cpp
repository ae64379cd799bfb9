#include "transports/tcp/inbox.hpp"

#include <cerrno>
#include <vector>

#include "transports/tcp/pieces.hpp"

namespace hocket::tcp {
namespace {

constexpr std::size_t bytes_per_advance = std::size_t{1} << 20;  // then others have their turn

std::size_t bytes_in(std::span<const iovec> parts) {
  std::size_t bytes = 0;
  for (const iovec& part : parts) bytes += part.iov_len;
  return bytes;
}

}  // namespace

Inbox::Progress Inbox::advance(int fd, std::span<std::byte> staging) {
  Progress progress;
  for (bool dry = false;;) {  // dry: the kernel has no more
    progress.event = messages_.settle(staging, progress.completed);
    if (progress.event != Event::none || messages_.early()) return progress;
    const bool done = progress.completed > 0 && !messages_.wanted();  // what comes next is for look() to see
    if (done || dry || progress.bytes >= bytes_per_advance) return progress;
    const auto parts = messages_.parts(staging);
    const ssize_t taken = read(fd, parts);
    if (taken <= 0) {
      if (taken < 0) progress.event = event_of_end();
      return progress;
    }
    dry = static_cast<std::size_t>(taken) < bytes_in(parts);
    progress.bytes += static_cast<std::size_t>(taken);
    messages_.took(static_cast<std::size_t>(taken));
  }
}

// 0: nothing now. Negative: the connection is over.
ssize_t Inbox::read(int fd, std::span<const iovec> parts) {
  if (ended_) return -1;
  ssize_t taken;
  do {
    taken = receive_pieces(fd, parts);
  } while (taken < 0 && errno == EINTR);
  if (taken > 0) return taken;
  if (taken < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
  ended_ = true;
  error_ = taken < 0 ? errno : 0;
  return -1;
}

Inbox::Event Inbox::foresee(int fd) {
  std::vector<std::byte> bytes(std::size_t{64} << 10);
  const iovec part{bytes.data(), bytes.size()};
  // The peer sends no more, so what is left is no larger than the kernel's buffer.
  for (ssize_t taken; (taken = read(fd, {&part, 1})) > 0;) {
    messages_.keep(std::span(bytes).first(static_cast<std::size_t>(taken)));
  }
  if (!ended_) return Event::none;
  const Event event = messages_.foresee();
  if (event == Event::goodbye) return Event::none;  // in order: received when the messages before it are
  return event == Event::none ? event_of_end() : event;
}

}  // namespace hocket::tcp
