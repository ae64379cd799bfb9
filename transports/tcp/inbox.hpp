// Inbox: the receiving half of a link. Bytes go from the kernel straight to where the posted receive wants them; what
// is to be reduced passes through a small staging buffer that stays in cache.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "src/spi/transport.hpp"
#include "transports/tcp/wire.hpp"

namespace hocket::tcp {

struct PostedReceive {
  Frame expected{};                 // the header that must come
  Buffer to{};                      // for this stream's share of the message
  const std::byte* mine = nullptr;  // for a reduction
  Reduction reduction{};            // no kernel: the bytes just land in `to`
  Completion* completion = nullptr;
};

class Inbox {
 public:
  enum class Event {
    none,      // nothing but messages that fit their receives
    cause,     // the peer told why it broke the link: cause()
    goodbye,   // the peer leaves, all its messages have been received
    mismatch,  // the next message does not fit the next receive: got() and expected()
    nonsense,  // what came is not Hocket's protocol: problem()
    end,       // the connection ended without goodbye
    error,     // the connection broke: error()
  };
  struct Progress {
    std::size_t completed = 0;  // messages
    std::size_t bytes = 0;      // read
    Event event = Event::none;  // anything else is the last thing this inbox has to say
  };

  explicit Inbox(StreamNumber stream) : stream_(stream) {}

  // What the peer said last of an operation in which it waits; once.
  std::optional<Tag> take_waiting() { return std::exchange(waiting_, std::nullopt); }
  void post(const PostedReceive& receive) { posted_.push_back(receive); }
  // Takes all receives out and returns whom to tell.
  std::vector<Completion*> abandon();

  // Whether a receive waits for bytes.
  bool wanted() const { return !posted_.empty(); }
  // Whether something can be done without the kernel.
  bool ready() const { return !posted_.empty() && ((have_ == header_bytes && !matched_) || spilled() > 0); }
  // Whether a message came before its receive: nothing is read until that is posted, so that the sender feels it.
  bool early() const { return posted_.empty() && have_ == header_bytes; }
  // Whether the kernel has no more to say.
  bool ended() const { return ended_; }

  // Reads and delivers what has come. `staging` is scratch memory for the time of the call.
  Progress advance(int fd, std::span<std::byte> staging);
  // For an early message on a connection that the peer has ended: takes all that is left in the kernel, so that a cause
  // behind unreceived messages is not lost. Returns cause, end, error, nonsense or none.
  Event foresee(int fd);

  Cause& cause() { return *cause_; }
  const Frame& got() const { return header_; }
  const Frame& expected() const { return posted_.front().expected; }
  const Status& problem() const { return problem_; }
  int error() const { return error_; }

 private:
  std::size_t spilled() const { return spill_.size() - spill_at_; }
  bool settle(Progress& progress);
  bool judge(Progress& progress);
  bool read(int fd, std::span<std::byte> staging, Progress& progress, bool& dry);
  bool read_small(int fd, Progress& progress, bool& dry);
  void read_cause(int fd, Progress& progress);
  void place(std::size_t bytes, std::span<std::byte> area, std::span<std::byte> staging);
  void absorb(std::size_t bytes, std::span<std::byte> staging);
  void finish(Progress& progress);
  ssize_t take(int fd, iovec* parts, std::size_t count, Progress& progress);
  ssize_t from_kernel(int fd, iovec* parts, std::size_t count);
  std::span<std::byte> payload_area(std::span<std::byte> staging) const;
  std::size_t payload_missing() const { return posted_.front().to.bytes - got_ - leftover_bytes_; }

  StreamNumber stream_;
  std::deque<PostedReceive> posted_;
  Frame header_{};                        // of the front message
  std::size_t have_ = 0;                  // bytes of it
  bool matched_ = false;                  // it is what the front receive expects
  std::size_t got_ = 0;                   // bytes of the front receive's payload that are in place
  std::array<std::byte, 64> leftover_{};  // of an element that came in part
  std::size_t leftover_bytes_ = 0;
  Frame ahead_{};  // header of the message after
  std::size_t ahead_have_ = 0;

  std::vector<std::byte> spill_;  // bytes read too early, to be taken before those in the kernel
  std::size_t spill_at_ = 0;
  bool ended_ = false;

  bool in_cause_ = false;
  std::vector<std::byte> cause_bytes_;
  std::size_t cause_have_ = 0;
  std::optional<Cause> cause_;
  std::optional<Tag> waiting_;
  Status problem_;
  int error_ = 0;
};

}  // namespace hocket::tcp
