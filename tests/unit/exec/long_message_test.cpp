// Messages that are longer than links take: operations that would move many gigabytes over links that only count.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include "src/exec/message_operation.hpp"
#include "src/exec/schedule_operation.hpp"
#include "src/plan/slicing.hpp"
#include "tests/unit/exec/fake_peers.hpp"

namespace hocket {
namespace {

constexpr Rank members = 4;
constexpr std::size_t gigabyte = std::size_t{1} << 30;

// Where a rank's buffers would be. Nothing is read or written: the operations of this test run in place, and combine
// nothing.
std::byte* const nowhere = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40);

struct Message {
  std::size_t offset, bytes;
};
using Messages = std::vector<Message>;

// Takes note of every message, which is over at once.
class CountingLink final : public Link {
 public:
  void send(const Tag&, ConstBuffer from, Completion& completion) override {
    sent.push_back({static_cast<std::size_t>(from.data - nowhere), from.bytes});
    completion.done(Status());
  }
  void recv(const Tag&, Buffer to, Completion& completion) override {
    received.push_back({static_cast<std::size_t>(to.data - nowhere), to.bytes});
    completion.done(Status());
  }
  void recv_reduce(const Tag&, ConstBuffer, Buffer, const Reduction&, Completion& completion) override {
    completion.done(Status(Code::internal, "nothing is to be combined"));
  }
  std::optional<Tag> probe() override { return std::nullopt; }
  void close(const Status&) override {}

  Messages sent, received;
};

class CountingPeers final : public testing_support::FakePeers {
 public:
  CountingPeers() : testing_support::FakePeers(members) {}
  Result<Link*> link(Rank peer, Deadline) override { return &links[peer]; }

  std::map<Rank, CountingLink> links;
};

struct Case {
  Collective collective;
  const char* algorithm;
  std::size_t element_bytes;
};

// What each rank hands to its links in an operation with blocks of `count` elements.
std::deque<CountingPeers> long_message_run(const Case& what, std::size_t count) {
  std::deque<CountingPeers> all(members);
  for (Rank rank = 0; rank < members; ++rank) {
    const PlanKey key{.algorithm = find_algorithm(what.collective, what.algorithm),
                      .rank = rank,
                      .size = members,
                      .count = count,
                      .element_bytes = what.element_bytes,
                      .slice_bytes = call_slice_bytes,
                      .placement = Placement::in_place};
    ScheduleOperation operation(make_plan(key), std::make_shared<Context>());
    operation.bind({.input = nowhere + static_cast<std::size_t>(rank) * count * what.element_bytes,
                    .output = nowhere,
                    .signature = {.collective = what.collective, .count = count},
                    .reduction = {},
                    .timeout = std::chrono::hours(1)});
    CountingPeers& peers = all[static_cast<std::size_t>(rank)];
    EXPECT_TRUE(operation.start({}, peers).ok());
    Counters counters;
    while (operation.advance(counters)) {
    }
    EXPECT_TRUE(operation.complete());
    EXPECT_TRUE(operation.failure().ok()) << operation.failure().message();
    std::uint64_t sent = 0;
    for (const auto& [peer, link] : peers.links) sent += link.sent.size();
    EXPECT_EQ(counters.messages_sent, sent);
  }
  return all;
}

void expect_cut_alike(const Messages& sent, const Messages& received, std::size_t element_bytes) {
  ASSERT_EQ(sent.size(), received.size());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(sent[i].bytes, received[i].bytes);
    EXPECT_LE(sent[i].bytes, message_bytes_max);
    EXPECT_EQ(sent[i].bytes % element_bytes, 0U);
  }
}

class LongMessages : public ::testing::TestWithParam<Case> {};

// Each byte once, and all of them, but perhaps the own block.
void expect_whole(Messages pieces, std::size_t block_bytes) {
  std::ranges::sort(pieces, {}, &Message::offset);
  std::size_t end = 0, bytes = 0;
  for (const Message& piece : pieces) {
    EXPECT_GE(piece.offset, end);
    end = piece.offset + piece.bytes;
    bytes += piece.bytes;
  }
  EXPECT_LE(end, members * block_bytes);
  EXPECT_GE(bytes, (members - 1) * block_bytes);
}

TEST_P(LongMessages, AreCutAlikeAtBothEnds) {
  const std::size_t element_bytes = GetParam().element_bytes, count = 5 * gigabyte / element_bytes + 1;
  auto all = long_message_run(GetParam(), count);
  for (Rank rank = 0; rank < members; ++rank) {
    Messages received;
    for (auto& [peer, link] : all[static_cast<std::size_t>(rank)].links) {
      expect_cut_alike(link.sent, all[static_cast<std::size_t>(peer)].links[rank].received, element_bytes);
      received.insert(received.end(), link.received.begin(), link.received.end());
    }
    if (HasFailure()) return;
    expect_whole(received, count * element_bytes);
  }
}

TEST(LongMessage, IsCutAlikeByItsSenderAndItsReceiver) {
  constexpr std::size_t element_bytes = 24, count = 5 * gigabyte / element_bytes + 1;
  CountingPeers peers;
  for (const bool sends : {true, false}) {
    MessageOperation operation(std::make_shared<Context>(), 1, sends, "test");
    operation.bind({.input = nowhere,
                    .output = nowhere,
                    .signature = {.kind = sends ? SignatureKind::send : SignatureKind::receive,
                                  .collective = sends ? Collective::send : Collective::recv,
                                  .dtype = DataType::opaque,
                                  .opaque_bytes = element_bytes,
                                  .count = count},
                    .reduction = {},
                    .timeout = std::chrono::hours(1)});
    ASSERT_TRUE(operation.start({.call = operation.signature()}, peers).ok());
    EXPECT_TRUE(operation.complete());
    EXPECT_TRUE(operation.failure().ok());
  }
  const CountingLink& link = peers.links[1];
  expect_cut_alike(link.sent, link.received, element_bytes);
  std::size_t end = 0;
  for (const Message& piece : link.sent) {
    EXPECT_EQ(piece.offset, end);
    end += piece.bytes;
  }
  EXPECT_EQ(end, count * element_bytes);
}

INSTANTIATE_TEST_SUITE_P(Of, LongMessages,
                         ::testing::Values(Case{Collective::allgather, "recursive_doubling", 1},
                                           Case{Collective::allgather, "recursive_doubling", 24},
                                           Case{Collective::allgather, "linear", 4}),
                         [](const auto& of) {
                           return std::string(of.param.algorithm) + "_" + std::to_string(of.param.element_bytes);
                         });

}  // namespace
}  // namespace hocket
