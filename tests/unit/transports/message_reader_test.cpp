#include "transports/tcp/message_reader.hpp"

#include <gtest/gtest.h>

#include "tests/fuzz/message_feed.hpp"

namespace hocket::tcp {
namespace {

using testing::append;
using testing::append_message;
using testing::Bytes;
using testing::MessageFeed;
using testing::Outcome;
using testing::Wanted;

using Event = MessageReader::Event;

// Messages that land and messages that are combined, small ones and one longer than the staging memory.
const std::vector<Wanted> receives = {{0, 0}, {1, 40}, {2, 42, 7}, {3, 2100, 12}, {4, 1}, {5, 9, 3}};

const Waiting waits{.tag = testing::tag_of(77), .missing = 3, .witness = 1};

Bytes valid_stream() {
  Bytes stream;
  for (const Wanted& receive : receives) {
    append_message(stream, receive.sequence, receive.bytes);
    if (receive.sequence == 2) append(stream, encode(header_of(waits)));
  }
  return stream;
}

Outcome feed(const std::vector<Wanted>& wanted, const Bytes& stream, std::vector<std::size_t> pieces, bool late) {
  std::size_t next = 0;
  return MessageFeed(wanted, late).run(stream, [&] { return next < pieces.size() ? pieces[next++] : SIZE_MAX; });
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
  for (const bool late : {false, true}) {
    for (std::size_t cut = 1; cut < stream.size(); ++cut) {
      SCOPED_TRACE("cut at byte " + std::to_string(cut));
      expect_all_received(feed(receives, stream, {cut}, late));
      if (HasFatalFailure()) return;
    }
    expect_all_received(feed(receives, stream, std::vector<std::size_t>(stream.size(), 1), late));
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
      {encode_cause(cause), Event::cause},
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
    for (std::size_t cut = 1; cut < stream.size(); ++cut) {
      const Outcome outcome = feed({{0, 5}, {1, 5}}, stream, {cut}, false);
      EXPECT_EQ(outcome.completed, 1U);
      EXPECT_EQ(outcome.event, event) << "cut " << cut;
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

}  // namespace
}  // namespace hocket::tcp
