#include "transports/tcp/inbox.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <vector>

namespace hocket::tcp {
namespace {

constexpr std::size_t bytes_per_advance = std::size_t{1} << 20;  // then others have their turn
// The same of what nobody receives yet: a peer that runs ahead may send as fast as this rank reads.
constexpr std::size_t bytes_ahead_at_once = std::size_t{256} << 10;

std::size_t bytes_in(std::span<const iovec> parts) {
  std::size_t bytes = 0;
  for (const iovec& part : parts) bytes += part.iov_len;
  return bytes;
}

}  // namespace

Inbox::Received Inbox::advance(Socket& socket, std::span<std::byte> staging) {
  Received received;
  for (bool dry = false;;) {  // dry: the kernel has no more
    received.event = messages_.settle(staging, received.completed);
    if (received.event != Event::none || messages_.unexpected()) return received;
    const bool done = received.completed > 0 && !messages_.wanted();  // what comes next is for look() to see
    if (done || dry || received.bytes >= bytes_per_advance) return received;
    const auto parts = messages_.parts(staging);
    const ssize_t taken = read(socket, parts);
    if (taken <= 0) {
      if (taken < 0) received.event = event_of_end();
      return received;
    }
    dry = static_cast<std::size_t>(taken) < bytes_in(parts);
    received.bytes += static_cast<std::size_t>(taken);
    or_ended([&] { messages_.took(static_cast<std::size_t>(taken)); });
  }
}

// Where memory runs out for bytes that were read, nothing behind them means anything.
void Inbox::or_ended(const auto& take) {
  try {
    take();
  } catch (...) {
    ended_ = true;
    throw;
  }
}

// 0: nothing now. Negative: the connection is over.
ssize_t Inbox::read(Socket& socket, std::span<const iovec> parts) {
  if (ended_) return -1;
  ssize_t taken;
  do {
    taken = socket.receive(parts);
  } while (taken < 0 && errno == EINTR);
  if (taken > 0) return taken;
  if (taken < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
  ended_ = true;
  error_ = taken < 0 ? errno : 0;
  return -1;
}

// Until the kernel has no more, or somewhat more than that is kept. Returns how much it was.
std::size_t Inbox::keep_what_came(Socket& socket, std::size_t at_most) {
  std::vector<std::byte> bytes(std::size_t{64} << 10);
  const iovec part{bytes.data(), bytes.size()};
  std::size_t came = 0;
  for (ssize_t taken; messages_.kept() < at_most && (taken = read(socket, {&part, 1})) > 0;) {
    or_ended([&] { messages_.keep(std::span(bytes).first(static_cast<std::size_t>(taken))); });
    came += static_cast<std::size_t>(taken);
  }
  return came;
}

bool Inbox::read_ahead(Socket& socket) {
  const std::size_t at_most = std::min(keeps_max, messages_.kept() + bytes_ahead_at_once);
  const bool came = may_read_ahead() && keep_what_came(socket, at_most) > 0;
  messages_.hear_behind();  // also what was read with a message before
  return came;
}

// The peer sends no more, so what is left is no larger than the kernel's buffer.
Inbox::Event Inbox::peek_end(Socket& socket) {
  (void)keep_what_came(socket, SIZE_MAX);
  if (!ended_) return Event::none;
  const Event event = messages_.peek_end();
  said_goodbye_ = event == Event::goodbye;
  if (said_goodbye_) return Event::none;  // in order: received when the messages before it are
  return event == Event::none ? event_of_end() : event;
}

}  // namespace hocket::tcp
