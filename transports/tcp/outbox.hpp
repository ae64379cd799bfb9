// Outbox: the sending half of a link. Messages wait here until the kernel has taken them.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "src/base/socket.hpp"
#include "src/spi/transport.hpp"
#include "transports/tcp/wire.hpp"

namespace hocket::tcp {

class Outbox {
 public:
  Outbox() { last_.reserve(sizeof(CauseFrame::bytes)); }

  struct Flushed {
    std::size_t completed = 0;  // messages
    int error = 0;              // errno of a connection that takes no more; 0: none
  };

  void push(const Frame& header, ConstBuffer payload, Completion& completion) {
    queue_.push_back({header, payload.data, payload.bytes, &completion});
  }
  // Whether the kernel took the whole message, if it is small. If not, it must be pushed next. Requires empty().
  bool send_at_once(Socket& socket, const Frame& header, ConstBuffer payload);
  // Bytes to send after all that is queued. Nothing may be pushed any more. Room for them was made beforehand.
  void finish_with(std::span<const std::byte> last);
  // Ends all messages with `why`. One that the peer has in part already is copied and still goes out whole, because the
  // peer could not tell its rest from what follows. If that rest is too large to copy, what finish_with() adds is
  // dropped as well.
  void abandon(const Status& why);
  // Leaves nothing of what waits to go out. Requires that no message is queued.
  void clear();

  bool empty() const { return queue_.empty() && last_.size() == last_sent_; }
  // Sends until the kernel takes no more; completes what it took.
  Flushed flush(Socket& socket);

 private:
  struct Message {
    Frame header;
    const std::byte* data;
    std::size_t bytes;
    Completion* completion;
  };

  bool gather_and_send(Socket& socket, Flushed& flushed);
  void keep_rest(const Message& front, std::size_t header_sent, std::size_t payload_sent);
  void took(std::size_t bytes, Flushed& flushed);

  std::deque<Message> queue_;
  std::size_t sent_ = 0;  // of the front message, header included
  std::vector<std::byte> last_;
  std::size_t last_sent_ = 0;
  bool cut_ = false;  // mid-message, with no way back
};

}  // namespace hocket::tcp
