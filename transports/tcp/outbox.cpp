#include "transports/tcp/outbox.hpp"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

namespace hocket::tcp {
namespace {

constexpr std::size_t messages_per_call = 16;
constexpr std::size_t calls_per_flush = 8;  // then others have their turn
constexpr std::size_t rest_bytes_max = std::size_t{16} << 20;
constexpr std::size_t copied_bytes_max = 2048;  // a call with one piece costs a third less than one with several

iovec part(const void* data, std::size_t bytes) {
  return {const_cast<void*>(data), bytes};  // sendmsg only reads it
}

// As send(2), without the price of thread cancellation, which glibc's pays for.
ssize_t send_now(int fd, const void* data, std::size_t bytes) {
  return ::syscall(SYS_sendto, fd, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL, nullptr, 0);
}

ssize_t send_pieces(int fd, const iovec* parts, std::size_t count, std::size_t bytes) {
  if (bytes > copied_bytes_max) {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(parts);
    message.msg_iovlen = count;
    return ::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  std::array<std::byte, copied_bytes_max> copied;
  std::byte* end = copied.data();
  for (const iovec& piece : std::span(parts, count)) {
    end = std::copy_n(static_cast<const std::byte*>(piece.iov_base), piece.iov_len, end);
  }
  return send_now(fd, copied.data(), bytes);
}

}  // namespace

bool Outbox::send_at_once(int fd, const Frame& header, ConstBuffer payload) {
  const std::size_t bytes = header_bytes + payload.bytes;
  if (bytes > copied_bytes_max) return false;
  std::array<std::byte, copied_bytes_max> message;
  std::copy_n(payload.data, payload.bytes, std::copy(header.begin(), header.end(), message.begin()));
  const ssize_t sent = send_now(fd, message.data(), bytes);
  if (sent > 0 && static_cast<std::size_t>(sent) < bytes) sent_ = static_cast<std::size_t>(sent);
  return sent == static_cast<ssize_t>(bytes);
}

void Outbox::finish_with(std::span<const std::byte> last) {
  if (!cut_) last_.insert(last_.end(), last.begin(), last.end());
}

std::vector<Completion*> Outbox::abandon() {
  if (sent_ > 0) {
    const Message& front = queue_.front();
    const std::size_t header_sent = std::min(sent_, header_bytes);
    const std::size_t payload_sent = sent_ - header_sent;
    if (front.bytes - payload_sent > rest_bytes_max) {
      cut_ = true;
    } else {
      last_.assign(front.header.begin() + static_cast<std::ptrdiff_t>(header_sent), front.header.end());
      last_.insert(last_.end(), front.data + payload_sent, front.data + front.bytes);
    }
    sent_ = 0;
  }
  std::vector<Completion*> completions;
  completions.reserve(queue_.size());
  for (const Message& message : queue_) completions.push_back(message.completion);
  queue_.clear();
  return completions;
}

Outbox::Progress Outbox::flush(int fd) {
  Progress progress;
  for (std::size_t call = 0; call < calls_per_flush && !empty(); ++call) {
    if (!gather_and_send(fd, progress)) break;
  }
  return progress;
}

// One system call with as much as fits in it. False: stop, the kernel is full or the connection broken.
bool Outbox::gather_and_send(int fd, Progress& progress) {
  iovec parts[2 * messages_per_call + 1];
  std::size_t count = 0;
  std::size_t offered = 0;
  const auto offer = [&](const void* data, std::size_t bytes) {
    if (bytes == 0) return;
    parts[count++] = part(data, bytes);
    offered += bytes;
  };
  std::size_t skip = sent_;
  const std::size_t messages = std::min(queue_.size(), messages_per_call);
  for (std::size_t i = 0; i < messages; ++i) {
    const Message& message = queue_[i];
    const std::size_t of_header = std::min(skip, header_bytes);
    const std::size_t of_payload = skip - of_header;
    offer(message.header.data() + of_header, header_bytes - of_header);
    offer(message.data + of_payload, message.bytes - of_payload);
    skip = 0;
  }
  if (messages == queue_.size()) offer(last_.data() + last_sent_, last_.size() - last_sent_);

  ssize_t sent;
  do {
    sent = send_pieces(fd, parts, count, offered);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) {
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS) progress.error = errno;
    return false;
  }
  took(static_cast<std::size_t>(sent), progress);
  return static_cast<std::size_t>(sent) == offered;
}

void Outbox::took(std::size_t bytes, Progress& progress) {
  while (!queue_.empty()) {
    const Message front = queue_.front();
    const std::size_t missing = header_bytes + front.bytes - sent_;
    if (bytes < missing) {
      sent_ += bytes;
      return;
    }
    bytes -= missing;
    sent_ = 0;
    queue_.pop_front();
    ++progress.completed;
    front.completion->done(Status());
  }
  last_sent_ += bytes;
}

}  // namespace hocket::tcp
