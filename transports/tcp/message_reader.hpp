// MessageReader: brings the messages of one stream into the receives that wait for them. It says where the next bytes
// are to be put, is told how many came, and says what that meant. Pure, as FrameParser is: tests and fuzzers feed it.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transports/tcp/frame_parser.hpp"
#include "transports/tcp/receive_target.hpp"

namespace hocket::tcp {

class MessageReader {
 public:
  enum class Event {
    none,       // nothing but messages that fit their receives
    cause,      // the peer told why it broke the link: take_cause()
    goodbye,    // the peer leaves, all its messages have been received
    mismatch,   // the next message does not fit the next receive: got() and expected()
    malformed,  // what came is not Hocket's protocol: problem()
    end,        // the connection ended without goodbye. This one and the next are for its reader to say
    error,      // the connection broke
  };

  explicit MessageReader(StreamNumber stream) : stream_(stream) {}

  void post(const PostedReceive& receive) { posted_.push_back(receive); }
  // Ends all receives with `why`. From now on messages are skipped: only what else comes matters.
  void abandon(const Status& why);
  // Whether a receive waits for bytes.
  bool wanted() const { return !posted_.empty(); }
  // Whether settle() may find something without further bytes.
  bool ready() const { return wanted() && (parser_.awaits_judgement() || !kept_.empty()); }
  // Whether a message came before its receive: no more bytes are wanted until that is posted, so that the sender feels
  // it.
  bool unexpected() const { return posted_.empty() && parser_.has_header() && !parser_.in_cause() && !skips_; }
  // What the peer said last of its waiting; once.
  std::optional<Waiting> take_waiting() { return std::exchange(waiting_, std::nullopt); }

  // Delivers what is here; adds to `completed` the messages. `staging` is scratch memory for the time of the call. Any
  // event but none is the last one.
  Event settle(std::span<std::byte> staging, std::size_t& completed);
  // Where the bytes that come next are to be put, in this order; not unexpected(). `staging` as before, until took().
  std::span<const iovec> parts(std::span<std::byte> staging);
  void took(std::size_t bytes);

  // Keeps bytes of a message that is unexpected(), and of what follows.
  void keep(std::span<const std::byte> bytes) { kept_.append(bytes); }
  // What those bytes end with, when no more will come: a cause or malformed; goodbye, which will be received in its
  // turn; or none of these.
  Event peek_end();
  // Whether a small message has been read, with what had come behind it; once.
  bool take_small_read() { return std::exchange(read_small_, false); }
  // How many bytes are kept.
  std::size_t kept() const { return kept_.bytes().size(); }
  // Takes note of what the peer says of its waiting behind a message that is unexpected(), as far as it is kept.
  void hear_behind();

  Cause take_cause() { return cause_ ? std::move(*cause_) : parser_.take_cause(); }
  const Frame& got() const { return parser_.header(); }
  const Frame& expected() const { return posted_.front().expected; }
  const Status& problem() const { return foreseen_problem_.ok() ? parser_.problem() : foreseen_problem_; }

 private:
  // Bytes that came before they were wanted.
  class Kept {
   public:
    bool empty() const { return at_ == end_; }
    std::span<const std::byte> bytes() const { return {memory_.get() + at_, end_ - at_}; }
    void append(std::span<const std::byte> bytes);
    void put_back(std::span<const std::byte> first, std::span<const std::byte> second);
    std::size_t take(std::span<const iovec> parts);
    // Removes bytes, counted from the first that is not taken.
    void erase(std::size_t from, std::size_t bytes);

   private:
    struct Free {
      void operator()(std::byte* memory) const { std::free(memory); }
    };
    // What grows by realloc(3) keeps its pages: megabytes are neither copied nor touched anew.
    std::unique_ptr<std::byte[], Free> memory_;
    std::size_t at_ = 0, end_ = 0, room_ = 0;
  };

  bool reads_small(std::span<std::byte> staging) const;
  void took_small(std::size_t bytes);
  void finish(std::size_t& completed);
  void skip();

  StreamNumber stream_;
  std::deque<PostedReceive> posted_;
  FrameParser parser_;
  ReceiveTarget target_;
  Kept kept_;
  bool skips_ = false;     // messages, as nobody waits for them any more
  std::size_t skip_ = 0;   // bytes that are missing of the one that is skipped
  std::size_t heard_ = 0;  // how many of the bytes kept hear_behind() need not look at again; 0: it begins anew
  std::optional<Waiting> waiting_;
  std::optional<Cause> cause_;  // foreseen
  Status foreseen_problem_;

  std::array<iovec, 3> parts_{};  // that were offered last
  std::span<std::byte> area_{}, staging_{};
  bool small_offered_ = false, read_small_ = false;
};

}  // namespace hocket::tcp
