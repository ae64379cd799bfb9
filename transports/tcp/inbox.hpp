// Inbox: the receiving half of a connection: reads from the kernel what its MessageReader wants. Bytes of large
// messages go straight to where the posted receive wants them.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <span>

#include "src/base/socket.hpp"
#include "transports/tcp/message_reader.hpp"

namespace hocket::tcp {

class Inbox {
 public:
  using Event = MessageReader::Event;
  struct Received {
    std::size_t completed = 0;  // messages
    std::size_t bytes = 0;      // read
    Event event = Event::none;  // anything else is the last thing this inbox has to say
  };

  explicit Inbox(StreamNumber stream) : messages_(stream) {}

  // What has come, and the receives that wait for it.
  MessageReader& messages() { return messages_; }
  const MessageReader& messages() const { return messages_; }
  // Whether the kernel has no more to say.
  bool ended() const { return ended_; }
  int error() const { return error_; }
  // Whether all that the peer sent is here, its goodbye included, though messages before that are not received yet.
  bool said_goodbye() const { return said_goodbye_; }

  // Reads and delivers what has come. `staging` is scratch memory for the time of the call.
  Received advance(Socket& socket, std::span<std::byte> staging);
  // For an unexpected message on a connection that the peer has ended: takes all that is left in the kernel, so that a
  // cause behind unreceived messages is not lost. Returns cause, end, error, malformed or none.
  Event peek_end(Socket& socket);
  // For an unexpected message, where this rank waits for a peer that may wait, too: what the peer says of that comes
  // behind its messages. Takes and keeps some of these, up to keeps_max in all. Returns whether anything came.
  bool read_ahead(Socket& socket);
  bool may_read_ahead() const { return !ended_ && messages_.kept() < keeps_max; }
  static constexpr std::size_t keeps_max = std::size_t{16} << 20;

 private:
  void or_ended(const auto& take);
  ssize_t read(Socket& socket, std::span<const iovec> parts);
  std::size_t keep_what_came(Socket& socket, std::size_t at_most);
  Event event_of_end() const { return error_ != 0 ? Event::error : Event::end; }

  MessageReader messages_;
  bool ended_ = false;
  int error_ = 0;
  bool said_goodbye_ = false;
};

}  // namespace hocket::tcp
