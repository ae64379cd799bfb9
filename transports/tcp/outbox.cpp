#include "transports/tcp/outbox.hpp"
#include "src/base/socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>

namespace hocket::tcp {
namespace {

constexpr std::size_t messages_per_call = 16;
constexpr std::size_t calls_per_flush = 8;  // then others have their turn
constexpr std::size_t rest_bytes_max = std::size_t{16} << 20;

iovec part(const void* data, std::size_t bytes) {
  return {const_cast<void*>(data), bytes};  // sendmsg only reads it
}

}  // namespace

bool Outbox::send_at_once(Socket& socket, const Frame& header, ConstBuffer payload) {
  const std::size_t bytes = header_bytes + payload.bytes;
  if (bytes > Socket::copied_bytes_max) return false;
  const ssize_t sent = socket.send(std::array{part(header.data(), header_bytes), part(payload.data, payload.bytes)});
  if (sent > 0 && static_cast<std::size_t>(sent) < bytes) sent_ = static_cast<std::size_t>(sent);
  return sent == static_cast<ssize_t>(bytes);
}

void Outbox::finish_with(std::span<const std::byte> last) {
  if (cut_) return;
  try {
    last_.insert(last_.end(), last.begin(), last.end());
  } catch (const std::bad_alloc&) {  // then the peer only sees the connection end
    last_.clear();
    cut_ = true;
  }
}

// Of a message that is half sent, because the caller's buffer is not to be touched any more.
void Outbox::keep_rest(const Message& front, std::size_t header_sent, std::size_t payload_sent) {
  try {
    last_.assign(front.header.begin() + static_cast<std::ptrdiff_t>(header_sent), front.header.end());
    last_.insert(last_.end(), front.data + payload_sent, front.data + front.bytes);
  } catch (const std::bad_alloc&) {
    last_.clear();
    cut_ = true;
  }
}

void Outbox::abandon(const Status& why) {
  if (sent_ > 0 && queue_.empty()) {  // memory ran out for a message that had begun to go out
    cut_ = true;
    sent_ = 0;
  }
  if (sent_ > 0) {
    const Message& front = queue_.front();
    const std::size_t header_sent = std::min(sent_, header_bytes);
    const std::size_t payload_sent = sent_ - header_sent;
    if (front.bytes - payload_sent > rest_bytes_max) {
      cut_ = true;
    } else {
      keep_rest(front, header_sent, payload_sent);
    }
    sent_ = 0;
  }
  for (; !queue_.empty(); queue_.pop_front()) queue_.front().completion->done(why);
}

void Outbox::clear() {
  last_.clear();
  last_sent_ = sent_ = 0;
  cut_ = false;
}

Outbox::Flushed Outbox::flush(Socket& socket) {
  Flushed flushed;
  for (std::size_t call = 0; call < calls_per_flush && !empty(); ++call) {
    if (!gather_and_send(socket, flushed)) break;
  }
  return flushed;
}

// One system call with as much as fits in it. False: stop, the kernel is full or the connection broken.
bool Outbox::gather_and_send(Socket& socket, Flushed& flushed) {
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
    sent = socket.send({parts, count});
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) {
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS) flushed.error = errno;
    return false;
  }
  took(static_cast<std::size_t>(sent), flushed);
  return static_cast<std::size_t>(sent) == offered;
}

void Outbox::took(std::size_t bytes, Flushed& flushed) {
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
    ++flushed.completed;
    front.completion->done(Status());
  }
  last_sent_ += bytes;
}

}  // namespace hocket::tcp
