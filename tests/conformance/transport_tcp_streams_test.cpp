// Links of several streams: who wants how many, who connects, and how they end.
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/conformance/tcp_stranger.hpp"
#include "tests/conformance/transport_ranks.hpp"

namespace hocket::testing_support {
namespace {

using ::testing::HasSubstr;

// Each rank wants as many streams as stand at its place.
struct WishMaker {
  std::vector<int> wishes;
  explicit WishMaker(std::vector<int> by_rank) : wishes(std::move(by_rank)) {}
  Result<std::unique_ptr<Transport>> make(const TransportConfig& config) {
    ::setenv("HOCKET_TCP_STREAMS", std::to_string(wishes[static_cast<std::size_t>(config.rank)]).c_str(), 1);
    auto made = find_transport("tcp")->make(config);
    ::unsetenv("HOCKET_TCP_STREAMS");
    return made;
  }
};

TEST(TcpStreams, TheLargerWishHolds) {
  for (const auto& wishes : {std::vector{1, 3}, std::vector{3, 1}, std::vector{16, 2}}) {
    Ranks<WishMaker> ranks(2, WishMaker(wishes));
    auto [low, high] = ranks.connect_both(0, 1);
    std::vector<pollfd> watched;
    ranks[0].watch(watched);
    const int streams = std::max(wishes[0], wishes[1]);
    EXPECT_EQ(watched.size(), static_cast<std::size_t>(streams) + 1);  // and the listening socket
    std::uint32_t number = 0;
    for (const std::size_t size : {0, 100, 65'535, 65'536, 65'537, 1'000'003}) {
      exchange(ranks, *low, *high, ++number, size);
      exchange(ranks, *high, *low, ++number, size);
    }
  }
}

// A reduction whose elements straddle the shares comes out right all the same.
TEST(TcpStreams, ElementsThatDoNotFitShares) {
  Ranks<WishMaker> ranks(2, WishMaker({3, 3}));
  auto [from, to] = ranks.connect_both(0, 1);
  const Bytes sent = pattern(300'000, 1), mine = pattern(sent.size(), 2);
  Bytes result(sent.size());
  const Reduction reduction{.kernel =
                                [](std::byte* out, const std::byte* left, const std::byte* right, std::size_t count) {
                                  for (std::size_t i = 0; i < 3 * count; ++i) out[i] = left[i] ^ right[i];
                                },
                            .element_bytes = 3,
                            .swapped = false};
  Outcome send, receive;
  to->recv_reduce(tag(1), {mine.data(), mine.size()}, whole(result), reduction, receive);
  from->send(tag(1), {sent.data(), sent.size()}, send);
  EXPECT_TRUE(ranks.until([&] { return send.done() && receive.done(); }));
  for (std::size_t i = 0; i < sent.size(); ++i) ASSERT_EQ(result[i], sent[i] ^ mine[i]) << i;
}

// Shares are of what comes in, and each belongs where its elements do.
TEST(TcpStreams, SharesOfWiderSums) {
  Ranks<WishMaker> ranks(2, WishMaker({3, 3}));
  auto [from, to] = ranks.connect_both(0, 1);
  const Bytes sent = pattern(300'000, 1), mine = pattern(2 * sent.size(), 2);
  Bytes result(2 * sent.size()), expected(result.size());
  const ReduceKernel kernel = [](std::byte* out, const std::byte* left, const std::byte* right, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      out[2 * i] = left[2 * i] ^ right[i];
      out[2 * i + 1] = left[2 * i + 1];
    }
  };
  kernel(expected.data(), mine.data(), sent.data(), sent.size());
  const Reduction reduction{.kernel = kernel, .element_bytes = 1, .mine_width = 2, .to_width = 2};
  Outcome send, receive;
  to->recv_reduce(tag(1), {mine.data(), sent.size()}, {result.data(), sent.size()}, reduction, receive);
  from->send(tag(1), {sent.data(), sent.size()}, send);
  EXPECT_TRUE(ranks.until([&] { return send.done() && receive.done(); }));
  EXPECT_TRUE(result == expected);
}

// A stranger that comes as rank 1 over two streams, to a rank 0 that wants two.
struct TwoStreams {
  Ranks<WishMaker> ranks{2, WishMaker({2, 2})};
  Stranger first{ranks[0].address()}, second{ranks[0].address()};

  void open(Stranger& stream, std::uint16_t index) {
    stream.say(hello(1, 0, ranks_group, {index, 2}));
    const auto welcome = tcp::parse_hello(stream.hear(ranks));
    ASSERT_TRUE(welcome.ok());
    EXPECT_EQ(*welcome, (tcp::Hello{tcp::HelloKind::welcome, ranks_group, 0, 1, {index, 2}}));
  }
};

TEST(TcpStreams, TheEndOfAnyIsTheEndOfTheLink) {
  for (const bool the_first : {true, false}) {
    TwoStreams two;
    two.open(two.first, 0);
    two.ranks.connect(0, 1);
    EXPECT_FALSE(two.ranks[0].connected(1));
    two.open(two.second, 1);
    EXPECT_TRUE(two.ranks[0].connected(1));
    Bytes bytes(1 << 20);
    Outcome receive;
    two.ranks.connect(0, 1).recv(tag(1), whole(bytes), receive);
    (the_first ? two.first : two.second).leave();
    EXPECT_TRUE(two.ranks.until([&] { return receive.done(); }));
    EXPECT_EQ(receive.times, 1);
    EXPECT_EQ(receive.status.code(), Code::peer_lost);
    ASSERT_EQ(two.ranks.seen(0).failures.size(), 1u);
    EXPECT_THAT(two.ranks.seen(0).failures[0].second.message(), HasSubstr("rank 1 (127.0.0.1:"));
  }
}

TEST(TcpStreams, ACauseOnOneCountsBeforeTheEndOfAnother) {
  TwoStreams two;
  two.open(two.first, 0);
  two.open(two.second, 1);
  two.second.say(tcp::encode_cause({.code = Code::timeout, .message = "late", .rank = 1}));
  two.first.leave();
  two.ranks.connect(0, 1);
  EXPECT_TRUE(two.ranks.until([&] { return !two.ranks.seen(0).failures.empty(); }));
  EXPECT_EQ(two.ranks.seen(0).failures[0].second.code(), Code::timeout);
}

TEST(TcpStreams, AMissingOneIsAwaitedUntilTheDeadline) {
  TwoStreams two;
  two.open(two.first, 0);
  Outcome receive;
  Bytes bytes(10);
  two.ranks.connect(0, 1, Deadline::after(std::chrono::milliseconds(50))).recv(tag(1), whole(bytes), receive);
  EXPECT_TRUE(two.ranks.until([&] { return receive.done(); }));
  EXPECT_EQ(receive.status.code(), Code::timeout);
}

TEST(TcpStreams, OthersThanAgreedAreRefused) {
  TwoStreams two;
  Stranger early(two.ranks[0].address());
  early.say(hello(1, 0, ranks_group, {1, 2}));
  EXPECT_TRUE(early.refused(two.ranks));
  Stranger fewer(two.ranks[0].address());
  fewer.say(hello(1, 0, ranks_group, {0, 1}));
  EXPECT_TRUE(fewer.refused(two.ranks));
  two.open(two.first, 0);
  Stranger twice(two.ranks[0].address());
  twice.say(hello(1, 0, ranks_group, {0, 2}));
  EXPECT_TRUE(twice.refused(two.ranks));
  Stranger more(two.ranks[0].address());
  more.say(hello(1, 0, ranks_group, {1, 3}));
  EXPECT_TRUE(more.refused(two.ranks));
  two.open(two.second, 1);
  EXPECT_TRUE(two.ranks[0].connected(1));
}

}  // namespace
}  // namespace hocket::testing_support
