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

// Runs the plan of a rank, which hands everything to its links.
void run_plan(const PlanKey& key, const Signature& signature, std::byte* input, CountingPeers& peers) {
  ScheduleOperation operation(make_plan(key), std::make_shared<Context>());
  operation.bind(
      {.input = input, .output = nowhere, .signature = signature, .reduction = {}, .timeout = std::chrono::hours(1)});
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
    run_plan(key, {.collective = what.collective, .count = count},
             nowhere + static_cast<std::size_t>(rank) * count * what.element_bytes,
             all[static_cast<std::size_t>(rank)]);
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

// Blocks that only the root and one other rank know.
TEST(LongMessage, OfABlockOfItsOwnSizeIsCutAlike) {
  constexpr std::size_t element_bytes = 4;
  const std::vector<std::size_t> counts = {7, 5 * gigabyte / element_bytes + 1, 0, gigabyte / element_bytes};
  std::deque<CountingPeers> all(members);
  for (Rank rank = 0; rank < members; ++rank) {
    UnequalBlocks blocks;
    blocks.input.resize(members);
    blocks.output.resize(members);
    const auto self = static_cast<std::size_t>(rank);
    blocks.output[self].count = counts[self];
    for (std::size_t of = 0, offset = 0; rank == 0 && of < counts.size(); offset += counts[of++]) {
      blocks.input[of] = {.offset = offset, .count = counts[of]};
    }
    PlanKey key{.algorithm = find_algorithm(Collective::scatter, "linear"),
                .rank = rank,
                .size = members,
                .element_bytes = element_bytes,
                .slice_bytes = block_slice_bytes,
                .placement = Placement::in_place};
    key.blocks = {std::make_shared<const UnequalBlocks>(blocks)};
    run_plan(key, {.collective = Collective::scatter_v, .count = Signature::unknown_count}, nowhere, all[self]);
  }
  const std::vector<std::size_t> messages = {0, 6, 1, 1};  // one tells that a block is empty
  for (Rank rank = 1; rank < members; ++rank) {
    const auto self = static_cast<std::size_t>(rank);
    const Messages& received = all[self].links[0].received;
    expect_cut_alike(all[0].links[rank].sent, received, element_bytes);
    EXPECT_EQ(received.size(), messages[self]);
    std::size_t bytes = 0;
    for (const Message& message : received) bytes += message.bytes;
    EXPECT_EQ(bytes, counts[self] * element_bytes);
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
