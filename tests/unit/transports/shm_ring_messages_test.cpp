// That messages of all lengths, with their tags and without, come through a ring as they were written.
#include <atomic>
#include <deque>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "src/exec/reduce.hpp"
#include "tests/unit/transports/shm_ring_ends.hpp"

namespace hocket::shm {
namespace {

using testing_support::Bytes;
using testing_support::Outcome;
using testing_support::tag;

TEST_F(ShmRingEnds, FourShortMessagesOfARowTakeOneLine) {
  const Bytes data = testing_support::pattern(8, 1);
  EXPECT_EQ(write(tag(7), data), cache_line_bytes);
  for (std::uint32_t i = 8; i < 100; ++i) EXPECT_EQ(write(tag(i), data), cache_line_bytes / 4);
  for (std::uint32_t i = 7; i < 100; ++i) EXPECT_TRUE(comes(tag(i), data)) << i;
}

TEST_F(ShmRingEnds, LongReceivesAreCountedWhileTheyArePosted) {
  const Bytes data = testing_support::pattern(in_place_bytes_min, 5);
  Bytes got(data.size()), others(in_place_bytes_min - 1);
  Outcome receive, rest;
  inbox_.post(
      {.expected = {.bytes = data.size(), .tag = tag(1)}, .to = testing_support::whole(got), .completion = &receive});
  inbox_.post(
      {.expected = {.bytes = others.size(), .tag = tag(2)}, .to = testing_support::whole(others), .completion = &rest});
  inbox_.post(
      {.expected = {.bytes = data.size(), .tag = tag(3)}, .to = testing_support::whole(got), .completion = &rest});
  EXPECT_EQ(long_receives_, 2U);
  Outcome sent;
  outbox_.push({.bytes = data.size(), .tag = tag(1)}, data.data(), sent);
  while (!receive.done()) {
    outbox_.flush(nobody);
    ASSERT_EQ(inbox_.advance(nobody).event, Inbox::Event::none);
  }
  EXPECT_EQ(long_receives_, 1U);
  inbox_.abandon(Status(Code::aborted, "the test is over"));
  EXPECT_EQ(long_receives_, 0U);
}

TEST_F(ShmRingEnds, TheShortestMessageThatMayStayIsAnsweredAsOthers) {
  const Bytes data = testing_support::pattern(in_place_bytes_min_of_two, 7);
  const PlainMemoryOwner own;
  const auto stays = [&] { return outbox_.leaves_in_place(all_plain_messages(), tag(1).call, data, own); };
  if (!kernel_reads(data)) GTEST_SKIP() << "a process may not read even its own memory here";
  EXPECT_FALSE(stays()) << "the reader is only asked";
  Bytes got(data.size());
  Outcome sent, receive;
  inbox_.post(
      {.expected = {.bytes = data.size(), .tag = tag(1)}, .to = testing_support::whole(got), .completion = &receive});
  outbox_.push({.bytes = data.size(), .tag = tag(1)}, data.data(), sent);
  while (!receive.done()) {
    outbox_.flush(nobody);
    ASSERT_EQ(inbox_.advance(nobody).event, Inbox::Event::none);
  }
  EXPECT_TRUE(stays());
}

TEST_F(ShmRingEnds, OneOf64MessagesThatMayStayPassesThrough) {
  const Bytes data = testing_support::pattern(in_place_bytes_min, 6);
  const Signature call = tag(1).call;
  PlainMessages messages = all_plain_messages();
  const PlainMemoryOwner own;
  outbox_.ring().control().reader_reads = 1;
  const auto stayed = [&] {
    int count = 0;
    for (int i = 0; i < 640; ++i) count += outbox_.leaves_in_place(messages, call, data, own) ? 1 : 0;
    return count;
  };
  EXPECT_EQ(stayed(), 640);
  messages.always = false;
  messages.reads = {.read = 2, .copy = 1};
  messages.read_ratio_max = 2;
  EXPECT_EQ(stayed(), 640) << "copies are not weighed";
  messages.weigh_copies = true;
  EXPECT_EQ(stayed(), 630);
  messages.read_ratio_max = 1.9;
  EXPECT_EQ(stayed(), 0);
}

TEST_F(ShmRingEnds, ARowEndsWithAnotherCallAndBeginsAnew) {
  const Bytes data = testing_support::pattern(8, 2), long_data = testing_support::pattern(untagged_max + 1, 3);
  const std::pair<Tag, const Bytes&> messages[] = {
      {tag(1), data},    {tag(2), data},          {tag(2), data}, {tag(4), data}, {tag(5, 1), data},
      {tag(6, 1), data}, {tag(7), data},          {tag(8), data}, {tag(9), data}, {tag(10), long_data},
      {tag(11), data},   {tag(UINT32_MAX), data}, {tag(0), data}};
  std::vector<std::uint64_t> taken;
  for (const auto& [tag, bytes] : messages) taken.push_back(write(tag, bytes));
  constexpr std::uint64_t line = cache_line_bytes, slot = slot_bytes, rest = line - slot;
  const std::vector<std::uint64_t> expected{line, slot, rest + line,         line, line,        slot, rest + line,
                                            slot, slot, line / 2 + 3 * line, slot, rest + line, slot};
  EXPECT_EQ(taken, expected);
  for (const auto& [tag, bytes] : messages) EXPECT_TRUE(comes(tag, bytes)) << tag.sequence;
}

TEST_F(ShmRingEnds, AMessageWithoutATagIsNotAnyOther) {
  const Bytes data = testing_support::pattern(8, 4);
  write(tag(1), data);
  write(tag(2), data);
  ASSERT_TRUE(comes(tag(1), data));
  EXPECT_FALSE(comes(tag(3), data));
  EXPECT_FALSE(comes(tag(2, 1), data));
  EXPECT_FALSE(comes(tag(2), Bytes(4)));
  MessageHeader found;
  ASSERT_EQ(inbox_.probe(found), Inbox::Probe::message);
  EXPECT_EQ(found.tag, tag(2));
  EXPECT_EQ(found.bytes, data.size());
  Bytes got(data.size());
  Outcome receive;
  inbox_.post(
      {.expected = {.bytes = data.size(), .tag = tag(5)}, .to = testing_support::whole(got), .completion = &receive});
  EXPECT_EQ(inbox_.advance(nobody).event, Inbox::Event::mismatch);
  EXPECT_EQ(inbox_.got().tag, tag(2));
  inbox_.abandon(Status(Code::mismatch, "the test is over"));
}

// Messages of many kinds, written and taken in all ways, often round the ring. The sender is ahead by a few messages,
// or by more than there is room for.
class ShmRingMessages : public ShmRingEnds {
 protected:
  struct Sent {
    Tag tag;
    Bytes data;
    Outcome outcome;
  };

  std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random_() % end); }
  std::size_t any_size() {
    const std::uint32_t kind = only_short_ ? 100 : below(100);
    return kind == 0 ? below(100'000) : kind < 8 ? below(3000) : below(130);
  }
  void send() {
    const Tag next = tag(number_, below(6) == 0 ? 1 : 0);
    Sent& sent = under_way_.emplace_back(next, testing_support::pattern(any_size(), below(1000)));
    number_ += below(20) == 0 ? 2 : 1;
    const std::size_t bytes = sent.data.size(), rest = ring_data_bytes - outbox_.ring().written() % ring_data_bytes;
    bytes_with_tags_ += bytes_in_ring(bytes);
    if (const std::uint64_t taken = write(next, sent.data); taken != 0) {
      const bool at_front = taken > bytes_in_ring(bytes) + cache_line_bytes;
      fronts_ += at_front ? 1 : 0;
      passed_over_ += at_front ? rest : 0;
      static_cast<Completion&>(sent.outcome).done(Status());
    } else {
      outbox_.push({.bytes = bytes, .tag = next}, sent.data.data(), sent.outcome);
    }
  }
  // Who is ready does something; else nobody could sleep until the next message goes.
  void flush() {
    const bool ready = outbox_.ready();
    const Outbox::Flushed flushed = outbox_.flush(nobody);
    ASSERT_FALSE(flushed.malformed);
    ASSERT_TRUE(!ready || flushed.bytes + flushed.completed > 0);
    full_ += outbox_.empty() ? 0 : 1;
  }
  void take() {
    const Sent& next = under_way_.front();
    MessageHeader found;
    if (below(4) == 0 && inbox_.probe(found) == Inbox::Probe::message) {
      ASSERT_EQ(found.tag, next.tag);
      ASSERT_EQ(found.bytes, next.data.size());
    }
    Bytes got(next.data.size());
    if (below(2) == 0 || !inbox_.take_at_once(next.tag, got, nobody)) {
      Outcome receive;
      inbox_.post({.expected = {.bytes = got.size(), .tag = next.tag},
                   .to = testing_support::whole(got),
                   .completion = &receive});
      while (!receive.done()) {
        flush();
        ASSERT_GT(inbox_.advance(nobody).happened(), 0u);
      }
    }
    ASSERT_EQ(got, next.data);
    ASSERT_TRUE(next.outcome.good());
    under_way_.pop_front();
    ++taken_;
  }

  std::mt19937 random_{17};
  bool only_short_ = false;
  std::deque<Sent> under_way_;
  std::uint32_t number_ = UINT32_MAX - 1000;  // which begins again
  std::uint64_t bytes_with_tags_ = 0, passed_over_ = 0, fronts_ = 0, full_ = 0, taken_ = 0;
};

TEST_F(ShmRingMessages, AreReadAsTheyWereWritten) {
  constexpr std::uint32_t ahead[] = {10, 400, 6000};
  while (taken_ < 200'000) {
    only_short_ = below(2) == 0;
    for (std::uint32_t left = below(ahead[below(3)]); left > 0; --left) send();
    flush();
    for (std::uint32_t left = below(3) == 0 ? 10'000 : below(3000); left > 0 && !under_way_.empty(); --left) {
      take();
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(full_, 100u);
  while (!under_way_.empty() && !HasFatalFailure()) take();
  EXPECT_TRUE(inbox_.drained());
  EXPECT_GT(bytes_with_tags_, outbox_.ring().written() - passed_over_ + 1'000'000) << "most have no tag";
  EXPECT_GT(fronts_, 10u) << "some begin at the front";
}

// The writer on another thread, whose memory of the ring is another mapping, as another process's is.
TEST_F(ShmRingEnds, MayBeUsedAtOnce) {
  constexpr std::uint32_t messages = 100'000;
  const auto tag_of = [](std::uint32_t number) { return tag(number, number / 16); };
  const auto data_of = [](std::uint32_t number) {
    return testing_support::pattern(number % 61 == 0 ? 5000 : number % 127, number);
  };
  std::atomic<bool> given_up{false};
  std::thread writer([&] {
    for (std::uint32_t number = 0; number < messages; ++number) {
      const Bytes data = data_of(number);
      if (outbox_.write_at_once(tag_of(number), data)) continue;
      Outcome sent;
      outbox_.push({.bytes = data.size(), .tag = tag_of(number)}, data.data(), sent);
      while (!sent.done()) {
        if (given_up) return outbox_.abandon(Status(Code::aborted, "the reader has given up"));
        outbox_.flush(nobody);
        std::this_thread::yield();
      }
    }
  });
  std::uint32_t wrong = 0;
  for (std::uint32_t number = 0; number < messages; ++number) {
    const Bytes expected = data_of(number);
    Bytes got(expected.size());
    Outcome receive;
    if (number % 3 == 0 || !inbox_.take_at_once(tag_of(number), got, nobody)) {
      inbox_.post({.expected = {.bytes = got.size(), .tag = tag_of(number)},
                   .to = testing_support::whole(got),
                   .completion = &receive});
      while (inbox_.wanted() && inbox_.advance(nobody).event == Inbox::Event::none) std::this_thread::yield();
      given_up = inbox_.wanted();
      if (given_up) inbox_.abandon(Status(Code::mismatch, "the test is over"));
      EXPECT_TRUE(receive.good()) << number;
      if (given_up) break;
    }
    wrong += got == expected ? 0 : 1;
  }
  writer.join();
  EXPECT_EQ(wrong, 0u);
}

TEST_F(ShmRingEnds, WhatIsCombinedNeedsNoTag) {
  const std::int32_t sent = 5, mine = 37;
  std::int32_t sum = 0;
  const auto bytes = std::as_bytes(std::span(&sent, 1));
  for (std::uint32_t i = 0; i < 9; ++i) {
    write(tag(i), bytes);
    Outcome receive;
    inbox_.post({.expected = {.bytes = sizeof sent, .tag = tag(i)},
                 .to = Buffer(reinterpret_cast<std::byte*>(&sum), sizeof sum),
                 .mine = reinterpret_cast<const std::byte*>(&mine),
                 .reduction = reduction_for(DataType::int32, ReduceOp::sum, 2),
                 .completion = &receive});
    EXPECT_EQ(inbox_.advance(nobody).completed, 1u);
    EXPECT_EQ(std::exchange(sum, 0), 42);
  }
}

}  // namespace
}  // namespace hocket::shm
