// What a ring's two ends make of nonsense that the other one has written: nothing is read or written beyond it. And how
// its pages are entered.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/conformance/transport_ranks.hpp"
#include "transports/shm/inbox.hpp"
#include "transports/shm/outbox.hpp"

namespace hocket::shm {
namespace {

using testing_support::Bytes;
using testing_support::Outcome;
using testing_support::tag;

constexpr int nobody_sleeps = -1;

TEST(ShmRing, WhatAReaderCannotHaveTakenIsFoundOut) {
  constexpr std::uint64_t line = cache_line_bytes;
  for (const std::uint64_t taken : {std::uint64_t{10}, ring_data_bytes, ring_data_bytes + line, 3 * line / 2,
                                    std::numeric_limits<std::uint64_t>::max()}) {
    const Bytes data(2 * ring_data_bytes);
    Outcome sent;
    Outbox outbox;
    const auto memory = outbox.ring().create();
    ASSERT_TRUE(memory.ok());
    outbox.ring().control().taken = taken;
    outbox.push({.bytes = data.size(), .tag = tag(0)}, data.data(), sent);
    EXPECT_TRUE(outbox.flush(nobody_sleeps).malformed) << taken;
    EXPECT_FALSE(outbox.write_at_once(tag(1), {data.data(), 8})) << taken;
    outbox.abandon(Status(Code::protocol_error, "the test is over"));
    EXPECT_EQ(sent.times, 1);
  }
}

TEST(ShmRing, WhatAReaderCannotHaveTakenFreesNoFront) {
  const Bytes data(8);
  Outbox outbox;
  const auto memory = outbox.ring().create();
  ASSERT_TRUE(memory.ok());
  std::uint32_t number = 0;
  while (outbox.ring().written() < ring_stretch_bytes && outbox.write_at_once(tag(number), data)) ++number;
  ASSERT_EQ(outbox.ring().written(), ring_stretch_bytes);
  outbox.ring().control().taken = ring_stretch_bytes + cache_line_bytes;
  EXPECT_FALSE(outbox.write_at_once(tag(number), data));
  EXPECT_EQ(outbox.ring().written(), ring_stretch_bytes);
}

TEST(ShmRing, OneLineStaysTheWriters) {
  const Bytes data(2 * ring_data_bytes);
  Outcome sent;
  Outbox outbox;
  const auto memory = outbox.ring().create();
  ASSERT_TRUE(memory.ok());
  outbox.push({.bytes = data.size(), .tag = tag(0)}, data.data(), sent);
  for (int round = 0; round < 3; ++round) EXPECT_FALSE(outbox.flush(nobody_sleeps).malformed);
  EXPECT_EQ(outbox.ring().written(), ring_room_max);
  EXPECT_EQ(outbox.ring().room(), 0u);
  outbox.abandon(Status(Code::protocol_error, "the test is over"));
}

// Of this process's pages there, as proc(5) says of /proc/[pid]/pagemap; those that a first use would still fault in
// are not among them.
std::size_t pages_entered(const std::byte* at, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::getpagesize());
  std::vector<std::uint64_t> entries(bytes / page);
  const UniqueFd map(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  const auto size = static_cast<ssize_t>(entries.size() * sizeof entries[0]);
  const auto first = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(at) / page * sizeof entries[0]);
  EXPECT_EQ(::pread(map.get(), entries.data(), static_cast<std::size_t>(size), first), size);
  return static_cast<std::size_t>(std::ranges::count_if(entries, [](std::uint64_t entry) { return entry >> 63 != 0; }));
}

TEST(ShmRing, TheFirstLongMessageEntersAllPagesThatPiecesReach) {
  const auto page = static_cast<std::size_t>(::getpagesize());
  constexpr std::size_t reached = ring_data_bytes + piece_bytes;
  Outbox outbox;
  const auto memory = outbox.ring().create();
  ASSERT_TRUE(memory.ok());
  auto probe = map_memory(memory->get(), 0, ring_front_bytes);
  if (!probe.ok() || !enter_pages(probe->data(), page)) GTEST_SKIP() << "the kernel is older than 5.14";
  const std::byte* const first = outbox.ring().at();
  const Bytes data(2 * page);
  ASSERT_TRUE(outbox.write_at_once(tag(0), {data.data(), 100}));
  EXPECT_LT(pages_entered(first, reached), reached / page / 2) << "what carries nothing long needs no more";
  ASSERT_TRUE(outbox.write_at_once(tag(1), data));
  EXPECT_EQ(pages_entered(first, reached), reached / page);
}

// What a writer may write where a message begins, and what becomes of a receive that waits for one of `bytes`.
struct Nonsense {
  std::uint64_t word;
  std::uint64_t written;
};

class ShmRingFromNonsense : public ::testing::TestWithParam<Nonsense> {
 protected:
  void SetUp() override {
    const auto memory = writer_.create();
    ASSERT_TRUE(memory.ok());
    ASSERT_TRUE(inbox_.ring().open(memory->get()).ok());
    ::new (writer_.at() + offsetof(MessageHeader, tag)) Tag(tag(0));
    writer_.control().written = GetParam().written;
    RingWriter::show(writer_.at(), GetParam().word);
  }

  static constexpr std::size_t bytes = std::size_t{4} << 20;

  RingWriter writer_;
  LongReceives long_receives_ = 0;
  Inbox inbox_{1, nullptr, long_receives_};
  Bytes received_ = Bytes(bytes);
  Outcome receive_;
};

TEST_P(ShmRingFromNonsense, IsNotTakenAtOnce) {
  EXPECT_FALSE(inbox_.take_at_once(tag(0), received_, nobody_sleeps));
}

TEST_P(ShmRingFromNonsense, IsFoundOutByAReceive) {
  inbox_.post(
      {.expected = {.bytes = bytes, .tag = tag(0)}, .to = testing_support::whole(received_), .completion = &receive_});
  EXPECT_EQ(inbox_.advance(nobody_sleeps).event, Inbox::Event::malformed);
  EXPECT_FALSE(receive_.done());
}

TEST_P(ShmRingFromNonsense, IsFoundOutByALook) {
  MessageHeader header;
  EXPECT_EQ(inbox_.probe(header), Inbox::Probe::malformed);
}

// A header that is not there, beyond what has been written, or more than there can be; and words that are none.
constexpr std::uint64_t good = MessageHeader::present | (std::uint64_t{4} << 20);
INSTANTIATE_TEST_SUITE_P(Words, ShmRingFromNonsense,
                         ::testing::Values(Nonsense{good, 0}, Nonsense{good, 63}, Nonsense{good, ring_data_bytes + 1},
                                           Nonsense{good | MessageHeader::whole, 0}, Nonsense{good, ~std::uint64_t{0}},
                                           Nonsense{good | MessageHeader::untagged, 15},
                                           Nonsense{MessageHeader::rest_is_empty, 64},
                                           Nonsense{MessageHeader::front_is_next, 64},
                                           Nonsense{std::uint64_t{4} << 20, 64}));

}  // namespace
}  // namespace hocket::shm
