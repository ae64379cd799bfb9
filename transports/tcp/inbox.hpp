// Inbox: the receiving half of a connection: reads from the kernel what its MessageReader wants. Bytes go straight to
// where the posted receive wants them.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <span>

#include "transports/tcp/message_reader.hpp"

namespace hocket::tcp {

class Inbox {
 public:
  using Event = MessageReader::Event;
  struct Progress {
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

  // Reads and delivers what has come. `staging` is scratch memory for the time of the call.
  Progress advance(int fd, std::span<std::byte> staging);
  // For an early message on a connection that the peer has ended: takes all that is left in the kernel, so that a cause
  // behind unreceived messages is not lost. Returns cause, end, error, nonsense or none.
  Event foresee(int fd);

 private:
  ssize_t read(int fd, std::span<const iovec> parts);
  Event event_of_end() const { return error_ != 0 ? Event::error : Event::end; }

  MessageReader messages_;
  bool ended_ = false;
  int error_ = 0;
};

}  // namespace hocket::tcp
