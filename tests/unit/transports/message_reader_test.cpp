#include "transports/tcp/message_reader.hpp"

#include <gtest/gtest.h>

#include "tests/fuzz/message_feed.hpp"

namespace hocket::tcp {
namespace {

using testing_support::append;
using testing_support::append_message;
using testing_support::Bytes;
using testing_support::MessageFeed;
using testing_support::Outcome;
using testing_support::Wanted;

using Event = MessageReader::Event;

// Messages that land and messages that are combined, small ones and one longer than the staging memory.
const std::vector<Wanted> receives = {{0, 0}, {1, 40}, {2, 42, 7}, {3, 2100, 12}, {4, 1}, {5, 9, 3}};

const Waiting waits{.tag = testing_support::tag_of(77), .missing = 3, .witness = 1};

Bytes valid_stream() {
  Bytes stream;
  for (const Wanted& receive : receives) {
    append_message(stream, receive.sequence, receive.bytes);
    if (receive.sequence == 2) append(stream, encode(header_of(waits)));
  }
  return stream;
}

Outcome feed(const std::vector<Wanted>& wanted, const Bytes& stream, std::vector<std::size_t> pieces, bool late,
             std::size_t staging = 400) {
  std::size_t next = 0;
  return MessageFeed(wanted, late, staging).run(stream, [&] {
    return next < pieces.size() ? pieces[next++] : SIZE_MAX;
  });
}

void expect_all_received(const Outcome& outcome) {
  ASSERT_EQ(outcome.completed, receives.size());
  EXPECT_EQ(outcome.waiting, waits);
  for (const Wanted& receive : receives) {
    const unsigned mine = receive.element_bytes > 0 ? 1 : 0;
    for (std::size_t i = 0; i < receive.bytes; ++i) {
      ASSERT_EQ(outcome.received[receive.sequence][i], static_cast<std::byte>(receive.sequence + i + mine))
          << "byte " << i << " of message " << receive.sequence;
    }
  }
}

TEST(MessageReader, TakesAValidStreamHoweverItIsCut) {
  const Bytes stream = valid_stream();
  for (const auto& [late, staging] : {std::pair(false, std::size_t{100}), {true, 100}, {true, 400}, {true, 4000}}) {
    for (std::size_t cut = 1; cut < stream.size(); ++cut) {
      SCOPED_TRACE("cut at byte " + std::to_string(cut));
      expect_all_received(feed(receives, stream, {cut}, late, staging));
      if (HasFatalFailure()) return;
    }
    expect_all_received(feed(receives, stream, std::vector<std::size_t>(stream.size(), 1), late, staging));
  }
}

// What has come behind a small message is read with it, and received without another read.
TEST(MessageReader, ReadsBehindASmallMessageWhatIsThere) {
  Bytes stream;
  for (std::uint32_t i = 0; i < 4; ++i) append_message(stream, i, 100);
  MessageReader reader({0, 1});
  Completion nobody{[](Completion&, const Status&) {}};
  Bytes staging(10'000);
  std::array<Bytes, 4> received;
  std::size_t completed = 0;
  const auto post = [&](std::size_t i) {
    const std::size_t begin = i * (header_bytes + 100);
    PostedReceive receive{.completion = &nobody};
    std::copy_n(stream.begin() + static_cast<std::ptrdiff_t>(begin), header_bytes, receive.expected.begin());
    received[i].resize(100);
    receive.to = {received[i].data(), 100};
    reader.post(receive);
  };
  post(0);
  ASSERT_EQ(reader.settle(staging, completed), Event::none);
  const auto parts = reader.parts(staging);
  ASSERT_EQ(parts.size(), 1u);
  ASSERT_GE(parts[0].iov_len, stream.size());
  const std::size_t came = stream.size() - 30;  // not all of the last one
  std::memcpy(parts[0].iov_base, stream.data(), came);
  reader.took(came);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(reader.settle(staging, completed), Event::none);
    EXPECT_EQ(completed, i + 1);
    EXPECT_TRUE(reader.unexpected());  // the next one
    post(i + 1);
    EXPECT_TRUE(reader.ready());
  }
  ASSERT_EQ(reader.settle(staging, completed), Event::none);
  EXPECT_EQ(completed, 3u);
  const auto rest = reader.parts(staging);
  ASSERT_EQ(rest.size(), 1u);
  ASSERT_EQ(rest[0].iov_len, 30u);
  std::memcpy(rest[0].iov_base, stream.data() + came, 30);
  reader.took(30);
  ASSERT_EQ(reader.settle(staging, completed), Event::none);
  EXPECT_EQ(completed, 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto sent = stream.begin() + static_cast<std::ptrdiff_t>(i * (header_bytes + 100) + header_bytes);
    EXPECT_TRUE(std::equal(received[i].begin(), received[i].end(), sent)) << i;
  }
}

TEST(MessageReader, StopsAtAnotherMessageThanTheOneThatIsExpected) {
  Bytes stream;
  append_message(stream, 0, 40);
  append_message(stream, 9, 40);
  for (std::size_t cut = 1; cut < stream.size(); ++cut) {
    const Outcome outcome = feed({{0, 40}, {1, 40}}, stream, {cut}, false);
    EXPECT_EQ(outcome.completed, 1U);
    EXPECT_EQ(outcome.event, Event::mismatch);
  }
}

TEST(MessageReader, SaysThatThePeerLeavesOrFailsBehindItsMessages) {
  const Cause cause{.code = Code::timeout, .message = "rank 3 is late", .operation = "allreduce"};
  const std::pair<Bytes, Event> ends[] = {
      {[&] {
         const CauseFrame frame = encode_cause(cause);
         return Bytes(frame.begin(), frame.end());
       }(),
       Event::cause},
      {[] {
         const Frame frame = encode(Header{.kind = FrameKind::goodbye});
         return Bytes(frame.begin(), frame.end());
       }(),
       Event::goodbye},
      {Bytes(header_bytes, std::byte{'x'}), Event::malformed},
  };
  for (const auto& [end, event] : ends) {
    Bytes stream;
    append_message(stream, 0, 5);
    append(stream, end);
    for (std::size_t cut = 1; cut <= stream.size(); ++cut) {
      for (const bool late : {false, true}) {  // the latter in one piece with the message, where it is not cut
        const Outcome outcome = feed({{0, 5}, {1, 5}}, stream, {cut}, late);
        EXPECT_EQ(outcome.completed, 1U);
        EXPECT_EQ(outcome.event, event) << "cut " << cut;
      }
    }
  }
}

// A message that came before its receive holds up what is behind it; a cause there is found all the same.
TEST(MessageReader, ForeseesACauseBehindMessagesThatNobodyHasReceived) {
  Bytes stream, rest;
  append_message(stream, 0, 64);
  append_message(rest, 1, 3000);
  append(rest, encode(header_of(waits)));
  append(rest, encode_cause({.code = Code::timeout, .message = "rank 3 is late"}));
  const auto foreseen = [&](std::size_t bytes_of_rest) {
    MessageReader reader({0, 1});
    std::size_t completed = 0;
    Bytes staging(100);
    const auto parts = reader.parts(staging);
    EXPECT_EQ(parts.size(), 1U);
    std::memcpy(parts[0].iov_base, stream.data(), header_bytes);
    reader.took(header_bytes);
    EXPECT_EQ(reader.settle(staging, completed), Event::none);
    EXPECT_TRUE(reader.unexpected());
    reader.keep(std::span(stream).subspan(header_bytes));
    reader.keep(std::span(rest).first(bytes_of_rest));
    const Event event = reader.peek_end();
    if (event == Event::cause) {
      EXPECT_EQ(reader.take_cause().message, "rank 3 is late");
    }
    return event;
  };
  EXPECT_EQ(foreseen(rest.size()), Event::cause);
  for (std::size_t bytes = 0; bytes < rest.size(); bytes += 13) EXPECT_EQ(foreseen(bytes), Event::none) << bytes;
}

// What a peer says of its waiting is heard there, too, and then not a second time.
TEST(MessageReader, HearsWaitingBehindMessagesThatNobodyHasReceived) {
  Bytes stream, rest;
  append_message(stream, 0, 64);
  append_message(rest, 1, 30);
  append(rest, encode(header_of({.tag = testing_support::tag_of(77), .missing = 9})));
  append(rest, encode(header_of(waits)));
  append_message(rest, 2, 5);
  for (std::size_t came = 0; came <= rest.size(); ++came) {
    SCOPED_TRACE(came);
    MessageReader reader({0, 1});
    std::size_t completed = 0;
    Bytes staging(100), received(64);
    std::memcpy(reader.parts(staging)[0].iov_base, stream.data(), header_bytes);
    reader.took(header_bytes);
    ASSERT_EQ(reader.settle(staging, completed), Event::none);
    reader.keep(std::span(stream).subspan(header_bytes));
    reader.keep(std::span(rest).first(came));
    reader.hear_behind();
    const std::size_t first = header_bytes + 30 + header_bytes, both = first + header_bytes;
    const auto heard = reader.take_waiting();
    EXPECT_EQ(heard.has_value(), came >= first);
    if (came >= both) {
      EXPECT_EQ(heard, waits);
    }
    Completion nobody{[](Completion&, const Status&) {}};
    Frame expected;
    std::copy_n(stream.begin(), header_bytes, expected.begin());
    reader.post({.expected = expected, .to = {received.data(), received.size()}, .completion = &nobody});
    ASSERT_EQ(reader.settle(staging, completed), Event::none);
    EXPECT_EQ(completed, 1u);
    EXPECT_FALSE(reader.take_waiting().has_value());
    EXPECT_TRUE(std::equal(received.begin(), received.end(), stream.begin() + header_bytes));
  }
}

// However little comes at a time, all of it is looked at once: as each is heard, and as none is heard again.
TEST(MessageReader, HearsWaitingBehindMessagesPieceByPiece) {
  Bytes stream, rest;
  append_message(stream, 0, 64);
  for (std::uint32_t i = 1; i < 4; ++i) {
    append_message(rest, i, 30);
    append(rest, encode(header_of({.tag = testing_support::tag_of(77), .missing = static_cast<Rank>(i)})));
  }
  MessageReader reader({0, 1});
  std::size_t completed = 0;
  Bytes staging(100);
  std::memcpy(reader.parts(staging)[0].iov_base, stream.data(), header_bytes);
  reader.took(header_bytes);
  ASSERT_EQ(reader.settle(staging, completed), Event::none);
  reader.keep(std::span(stream).subspan(header_bytes));
  std::vector<Rank> missing;
  for (const std::byte& byte : rest) {
    reader.keep({&byte, 1});
    reader.hear_behind();
    if (const auto heard = reader.take_waiting()) missing.push_back(heard->missing);
  }
  EXPECT_EQ(missing, (std::vector<Rank>{1, 2, 3}));
}

// Once nobody waits for messages any more, only what comes between them matters; however it is cut.
TEST(MessageReader, FindsACauseBehindMessagesThatItSkips) {
  Bytes stream;
  append_message(stream, 0, 200);
  append_message(stream, 1, 0);
  append_message(stream, 2, 300);
  append(stream, encode(header_of(waits)));
  append(stream, encode_cause({.code = Code::timeout, .message = "rank 3 is late"}));
  for (std::size_t before = 0; before < stream.size(); before += 7) {
    SCOPED_TRACE(before);
    MessageReader reader({0, 1});
    Completion nobody{[](Completion&, const Status&) {}};
    Bytes staging(100), received(200);
    std::size_t at = 0, completed = 0;
    const auto bring = [&](std::size_t at_most) {
      std::size_t brought = 0;
      for (const iovec& part : reader.parts(staging)) {
        const std::size_t bytes = std::min({part.iov_len, stream.size() - at - brought, at_most - brought});
        if (bytes > 0) std::memcpy(part.iov_base, &stream[at + brought], bytes);
        brought += bytes;
      }
      reader.took(brought);
      at += brought;
    };
    Frame expected;
    std::copy_n(stream.begin(), header_bytes, expected.begin());
    reader.post({.expected = expected, .to = {received.data(), received.size()}, .completion = &nobody});
    while (at < before && reader.settle(staging, completed) == Event::none && !reader.unexpected()) bring(before - at);
    reader.abandon(Status(Code::aborted, "nobody waits any more"));
    const Bytes then = received;
    Event event = Event::none;
    while ((event = reader.settle(staging, completed)) == Event::none && at < stream.size()) bring(11);
    ASSERT_EQ(event, Event::cause);
    EXPECT_EQ(reader.take_cause().message, "rank 3 is late");
    EXPECT_EQ(received, then);
  }
}

}  // namespace
}  // namespace hocket::tcp
