// That short messages stay in the front of a ring, and what a ring's ends tell each other beside messages.
#include <algorithm>
#include <cstdint>

#include "tests/unit/transports/shm_ring_ends.hpp"

namespace hocket::shm {
namespace {

using testing_support::Bytes;
using testing_support::Outcome;
using testing_support::tag;

// Where in the ring the next message will lie.
class ShmRingFront : public ShmRingEnds {
 protected:
  std::size_t offset() { return outbox_.ring().written() % ring_data_bytes; }
  void write_next(const Bytes& data) { ASSERT_TRUE(outbox_.write_at_once(tag(written_++), data)); }
  void take_next(const Bytes& data) { ASSERT_TRUE(comes(tag(taken_++), data)) << taken_; }

  std::uint32_t written_ = 0, taken_ = 0;
};

TEST_F(ShmRingFront, IsWhereShortMessagesStayThatAreTaken) {
  const Bytes data = testing_support::pattern(8, 5);
  std::size_t furthest = 0;
  for (int row = 0; row < 1000; ++row) {
    for (int i = 0; i < 64; ++i) {
      write_next(data);
      furthest = std::max(furthest, offset());
    }
    for (int i = 0; i < 64; ++i) take_next(data);
  }
  EXPECT_LE(furthest, 2 * ring_stretch_bytes);
  EXPECT_GT(outbox_.ring().written(), 4 * ring_data_bytes) << "it has never gone back";
}

TEST_F(ShmRingFront, IsNotGoneBackToBeforeItIsRead) {
  const Bytes data = testing_support::pattern(8, 6);
  while (offset() < 3 * ring_stretch_bytes && !HasFatalFailure()) write_next(data);
  EXPECT_EQ(outbox_.ring().written(), 3 * ring_stretch_bytes);
  while (taken_ < written_ && !HasFatalFailure()) take_next(data);
  write_next(data);
  EXPECT_LE(offset(), cache_line_bytes) << "where a stretch ends, all has been read";
  take_next(data);
}

TEST_F(ShmRingFront, IsGoneBackToAsFarAsItIsRead) {
  const Bytes data = testing_support::pattern(8, 7);
  while (offset() < 3 * ring_stretch_bytes && !HasFatalFailure()) write_next(data);
  while (inbox_.ring().position() < ring_stretch_bytes && !HasFatalFailure()) take_next(data);
  // Two stretches wait behind the first, which is free. More than that is not written over them.
  std::uint32_t more = 0;
  for (; outbox_.write_at_once(tag(written_), data); ++more) ++written_;
  EXPECT_LT(offset(), ring_stretch_bytes);
  EXPECT_GE(more, (ring_stretch_bytes - cache_line_bytes) / slot_bytes);
  while (taken_ < written_ && !HasFatalFailure()) take_next(data);
}

TEST_F(ShmRingFront, IsNotForLongMessages) {
  const Bytes data = testing_support::pattern(short_message_bytes + 1, 8);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(write(tag(written_++), data), bytes_in_ring(data.size()));
    take_next(data);
  }
}

// Else there would be no room for a long one behind a short one.
TEST_F(ShmRingFront, IsNotForShortMessagesAmongLongOnes) {
  const Bytes data = testing_support::pattern(8, 9), long_data = testing_support::pattern(16384, 10);
  for (int i = 0; i < 1000 && !HasFatalFailure(); ++i) {
    write_next(data);
    write_next(long_data);
    take_next(data);
    take_next(long_data);
  }
}

TEST_F(ShmRingEnds, AReaderKnowsWhetherTheWriterOfAShortMessageWaitedOnAnotherCore) {
  Bytes got(short_message_bytes + 1);
  Outcome receive;
  const auto post = [&](std::size_t bytes) {
    inbox_.post({.expected = {.bytes = bytes, .tag = tag(0)}, .to = Buffer(got.data(), bytes), .completion = &receive});
  };
  post(short_message_bytes);
  EXPECT_FALSE(inbox_.awaits_another_core(4)) << "the writer has not waited";
  outbox_.tell_core(3);
  EXPECT_FALSE(inbox_.awaits_another_core(3));
  EXPECT_TRUE(inbox_.awaits_another_core(4));
  outbox_.tell_core(4);
  EXPECT_FALSE(inbox_.awaits_another_core(4));
  inbox_.abandon(Status(Code::aborted, "the test is over"));
  EXPECT_FALSE(inbox_.awaits_another_core(1)) << "no receive is posted";
  post(short_message_bytes + 1);
  EXPECT_FALSE(inbox_.awaits_another_core(1)) << "it is long";
  inbox_.abandon(Status(Code::aborted, "the test is over"));
}

}  // namespace
}  // namespace hocket::shm
