// Feeds a stream of bytes to a MessageReader, in pieces of any sizes, and says what came of it. No socket is needed.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "transports/tcp/message_reader.hpp"

namespace hocket::testing_support {

using Bytes = std::vector<std::byte>;

// A receive that waits for a message.
struct Wanted {
  std::uint32_t sequence = 0;
  std::size_t bytes = 0;
  std::size_t element_bytes = 0;  // 0: nothing is combined
};

inline Tag tag_of(std::uint32_t sequence) {
  return {.communicator = 3, .sequence = sequence, .call = {.collective = Collective::allreduce, .count = sequence}};
}

// What came of a stream.
struct Outcome {
  std::size_t completed = 0;
  tcp::MessageReader::Event event = tcp::MessageReader::Event::none;
  std::optional<Waiting> waiting = std::nullopt;
  std::vector<Bytes> received = {};  // by completed receive

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// What becomes of what comes when no receive is left.
enum class Rest {
  ignored,
  foreseen,  // it is kept, and looked at as far as that concerns more than messages
  skipped,   // the link has ended, and only how the peer ended it counts
};

class MessageFeed {
 public:
  // `late`: a receive is posted only when its message is early, else all are posted before anything comes. `staging`:
  // bytes of scratch memory, into which small messages are read with what is behind them.
  MessageFeed(const std::vector<Wanted>& wanted, bool late, std::size_t staging = 400)
      : wanted_(wanted), late_(late), staging_(staging), reader_({0, 1}) {
    for (const Wanted& receive : wanted) {
      mine_.emplace_back(receive.bytes, std::byte{1});
      to_.emplace_back(receive.bytes);
    }
    while (!late_ && posted_ < wanted_.size()) post();
  }

  // `piece`: how many bytes come next, at least one.
  Outcome run(const Bytes& stream, const std::function<std::size_t()>& piece, Rest rest = Rest::ignored) {
    Outcome outcome;
    std::size_t at = 0;
    while (true) {
      outcome.event = reader_.settle(staging_, outcome.completed);
      if (const auto what = reader_.take_waiting()) outcome.waiting = what;
      if (outcome.event != tcp::MessageReader::Event::none) break;
      if (reader_.unexpected()) {
        if (posted_ < wanted_.size()) {
          post();
        } else if (rest == Rest::skipped) {
          reader_.abandon(Status(Code::aborted, "nobody waits any more"));
        } else {
          if (rest == Rest::foreseen) foresee(std::span(stream).subspan(at), piece, outcome);
          break;
        }
        continue;
      }
      if (at == stream.size()) break;
      at += bring(std::span(stream).subspan(at), piece());
    }
    outcome.received.assign(to_.begin(), to_.begin() + static_cast<std::ptrdiff_t>(outcome.completed));
    return outcome;
  }

 private:
  struct Count : Completion {
    Count() {
      on_done = [](Completion&, const Status&) {};
    }
  };

  void post() {
    const std::size_t number = posted_++;
    const Wanted& receive = wanted_[number];
    tcp::PostedReceive posted{.expected = tcp::encode(tcp::Header{tcp::FrameKind::message, tag_of(receive.sequence),
                                                                  static_cast<std::uint32_t>(receive.bytes)}),
                              .to = {to_[number].data(), receive.bytes},
                              .completion = &nobody_};
    if (receive.element_bytes > 0) {
      posted.mine = mine_[number].data();
      posted.reduction = {.custom = &sums_.emplace_back(receive.element_bytes), .element_bytes = receive.element_bytes};
    }
    reader_.post(posted);
  }

  // What is behind an unexpected message: as it comes, and what was read with a message before.
  void foresee(std::span<const std::byte> left, const std::function<std::size_t()>& piece, Outcome& outcome) {
    while (true) {
      reader_.hear_behind();
      if (const auto what = reader_.take_waiting()) outcome.waiting = what;
      if (left.empty()) break;
      const std::size_t bytes = std::min(left.size(), piece());
      reader_.keep(left.first(bytes));
      left = left.subspan(bytes);
    }
    outcome.event = reader_.peek_end();
  }

  std::size_t bring(std::span<const std::byte> left, std::size_t piece) {
    std::size_t brought = 0;
    for (const iovec& part : reader_.parts(staging_)) {
      const std::size_t bytes = std::min({part.iov_len, left.size() - brought, piece - brought});
      if (bytes > 0) std::memcpy(part.iov_base, left.data() + brought, bytes);
      brought += bytes;
    }
    reader_.took(brought);
    return brought;
  }

  // Byte by byte, so that every cut through an element shows.
  struct Sum final : CustomKernel {
    explicit Sum(std::size_t bytes) : element_bytes(bytes) {}
    void reduce(std::byte* to, const std::byte* left, const std::byte* right, std::size_t count) override {
      for (std::size_t i = 0; i < count * element_bytes; ++i) {
        to[i] = static_cast<std::byte>(static_cast<unsigned>(left[i]) + static_cast<unsigned>(right[i]));
      }
    }
    const std::size_t element_bytes;
  };

  const std::vector<Wanted> wanted_;
  const bool late_;
  std::size_t posted_ = 0;
  std::vector<Bytes> mine_, to_;
  Bytes staging_;
  std::deque<Sum> sums_;
  Count nobody_;
  tcp::MessageReader reader_;
};

inline void append(Bytes& stream, std::span<const std::byte> bytes) {
  stream.insert(stream.end(), bytes.begin(), bytes.end());
}

// The frame of a message whose payload counts up from its sequence.
inline void append_message(Bytes& stream, std::uint32_t sequence, std::size_t bytes) {
  append(stream,
         tcp::encode(tcp::Header{tcp::FrameKind::message, tag_of(sequence), static_cast<std::uint32_t>(bytes)}));
  for (std::size_t i = 0; i < bytes; ++i) stream.push_back(static_cast<std::byte>(sequence + i));
}

}  // namespace hocket::testing_support
