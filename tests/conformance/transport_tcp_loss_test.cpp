// How connections end that stood, as only TCP knows: resets, nonsense, and causes behind them.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

#include "tests/conformance/tcp_maker.hpp"
#include "tests/conformance/tcp_stranger.hpp"
#include "tests/conformance/transport_ranks.hpp"
#include "transports/tcp/endpoint.hpp"
#include "transports/tcp/wire.hpp"

namespace hocket::testing_support {
namespace {

using ::testing::HasSubstr;

// A stranger that has been let in as rank 1, and what rank 0 sees of it.
struct Impostor {
  Ranks<TcpMaker> ranks{2};
  Stranger peer{ranks[0].address()};
  Link* link = nullptr;
  Bytes bytes{100};
  Outcome receive;

  Impostor() {
    peer.say(hello(1, 0));
    peer.hear(ranks);
    link = &ranks.connect(0, 1);
    link->recv(tag(1, 25), {bytes.data(), 100}, receive);
    ranks.settle();
  }
  const Status& failure() {
    EXPECT_TRUE(ranks.until([&] { return !ranks.seen(0).failures.empty() && receive.done(); }));
    EXPECT_EQ(ranks.seen(0).failures.size(), 1u);
    EXPECT_EQ(receive.times, 1);
    EXPECT_EQ(receive.status.code(), ranks.seen(0).failures[0].second.code());
    return ranks.seen(0).failures[0].second;
  }
};

void append(Bytes& stream, const auto& bytes) {
  stream.insert(stream.end(), bytes.begin(), bytes.end());
}

// A message of 100 bytes, as the impostor is expected to send it.
void append_message(Bytes& stream, std::uint32_t number, const Bytes& payload) {
  append(stream, tcp::encode(tcp::Header{.kind = tcp::FrameKind::message, .tag = tag(number, 25), .bytes = 100}));
  append(stream, payload);
}

TEST(TcpLoss, AResetNamesThePeerItsAddressAndTheReason) {
  Impostor impostor;
  impostor.peer.reset();
  const Status& why = impostor.failure();
  EXPECT_EQ(why.code(), Code::peer_lost);
  EXPECT_THAT(why.message(), HasSubstr("rank 1 (127.0.0.1:"));
  EXPECT_THAT(why.message(), HasSubstr("reset"));
  EXPECT_EQ(why.cause().rank, 0);
  EXPECT_EQ(why.cause().peer, 1);
}

TEST(TcpLoss, AnEndInTheMidstOfAMessage) {
  Impostor impostor;
  impostor.peer.say(tcp::encode(tcp::Header{.kind = tcp::FrameKind::message, .tag = tag(1, 25), .bytes = 100}));
  impostor.peer.say(Bytes(50));
  impostor.ranks.settle();
  EXPECT_FALSE(impostor.receive.done());
  impostor.peer.leave();
  EXPECT_EQ(impostor.failure().code(), Code::peer_lost);
}

TEST(TcpLoss, NonsenseAfterTheHandshake) {
  Impostor impostor;
  impostor.peer.say(pattern(300, 4));
  const Status& why = impostor.failure();
  EXPECT_EQ(why.code(), Code::protocol_error);
  EXPECT_THAT(why.message(), HasSubstr("rank 1 (127.0.0.1:"));
}

// Longer than any frame of its kind may be: nothing is allocated for it, and nobody waits for the rest.
TEST(TcpLoss, AnOversizedFrame) {
  auto cause = tcp::encode_cause({.code = Code::timeout, .message = "late"});
  const std::uint32_t huge = 0xffffffff;
  std::memcpy(cause.bytes.data() + 12, &huge, sizeof huge);
  Impostor with_cause;
  with_cause.peer.say(cause);
  EXPECT_EQ(with_cause.failure().code(), Code::protocol_error);

  Impostor with_message;
  with_message.peer.say(tcp::encode(tcp::Header{.kind = tcp::FrameKind::message, .tag = tag(1, 25), .bytes = huge}));
  const Status& why = with_message.failure();
  EXPECT_EQ(why.code(), Code::mismatch);
  EXPECT_THAT(why.message(), HasSubstr("4294967295 bytes where 100"));
}

TEST(TcpLoss, AFrameOfAnotherVersion) {
  Impostor impostor;
  auto frame = tcp::encode(tcp::Header{.kind = tcp::FrameKind::message, .tag = tag(1, 25), .bytes = 100});
  frame[2] = std::byte{9};
  impostor.peer.say(frame);
  const Status& why = impostor.failure();
  EXPECT_EQ(why.code(), Code::protocol_error);
  EXPECT_THAT(why.message(), HasSubstr("version"));
}

std::size_t resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Rank 1 takes a byte now and then of what rank 0 sends: rank 2 is served all the same, nothing is heaped up, and
// leaving ends at its deadline.
TEST(TcpLoss, ASlowReaderHoldsUpNobodyElse) {
  Ranks<TcpMaker> ranks(3);
  Stranger slow(ranks[0].address());
  slow.say(hello(1, 0));
  slow.hear(ranks);
  Link& to_slow = ranks.connect(0, 1);
  Bytes large(std::size_t{64} << 20);
  Outcome stuck;
  const std::size_t before = resident_bytes();
  to_slow.send(tag(1, 25), whole(large), stuck);
  auto [from, to] = ranks.connect_both(0, 2);
  for (unsigned round = 0; round < 20; ++round) {
    Bytes sent = pattern(100'000, round), received(sent.size());
    Outcome send, receive;
    slow.hear_a_byte();
    to->recv(tag(round), whole(received), receive);
    from->send(tag(round), whole(sent), send);
    ASSERT_TRUE(ranks.until([&] { return send.done() && receive.done(); }));
    EXPECT_EQ(sent, received);
  }
  EXPECT_FALSE(stuck.done());
  EXPECT_LT(resident_bytes(), before + large.size() / 2);
  EXPECT_TRUE(ranks.seen(0).failures.empty());
  ranks[0].shut_down(Status(Code::timeout, "rank 1 is late"), Deadline::after(std::chrono::milliseconds(50)));
  EXPECT_EQ(stuck.times, 1);
  EXPECT_EQ(stuck.status.code(), Code::timeout);
}

TEST(TcpLoss, AMalformedCauseIsNonsense) {
  Impostor impostor;
  auto frame = tcp::encode_cause({.code = Code::timeout, .message = "late"});
  frame.bytes[tcp::header_bytes] = std::byte{200};
  impostor.peer.say(frame);
  EXPECT_EQ(impostor.failure().code(), Code::protocol_error);
}

TEST(TcpLoss, MessagesByteByByteThenACause) {
  Impostor impostor;
  Bytes stream;
  Bytes payload = pattern(100, 2);
  append_message(stream, 1, payload);
  append(stream, tcp::encode_cause({.code = Code::aborted, .message = "the first cause", .rank = 3}));
  Bytes second(100);
  Outcome late;
  impostor.link->recv(tag(2, 25), whole(second), late);
  for (const std::byte& byte : stream) {
    impostor.peer.say(std::span(&byte, 1));
    impostor.ranks.step();
  }
  EXPECT_TRUE(impostor.ranks.until([&] { return late.done(); }));
  EXPECT_TRUE(impostor.receive.good());
  EXPECT_EQ(impostor.bytes, payload);
  ASSERT_EQ(impostor.ranks.seen(0).failures.size(), 1u);
  const Status& why = impostor.ranks.seen(0).failures[0].second;
  EXPECT_EQ(why.code(), Code::aborted);
  EXPECT_EQ(why.message(), "the first cause");
  EXPECT_EQ(why.cause().rank, 3);
}

TEST(TcpLoss, TheCauseWinsOverTheResetBehindIt) {
  Impostor impostor;
  impostor.peer.say(tcp::encode_cause({.code = Code::timeout, .message = "late", .rank = 1}));
  impostor.peer.reset();
  Outcome send;
  Bytes bytes(100'000);
  impostor.link->send(tag(1), whole(bytes), send);  // meets the closed socket before the cause is read
  impostor.link->send(tag(1), whole(bytes), send);
  EXPECT_EQ(impostor.failure().code(), Code::timeout);
}

// Messages that were read together come before the cause.
TEST(TcpLoss, TheCauseWinsBehindMessagesThatAreKept) {
  Impostor impostor;  // it expects a message
  Bytes stream;
  for (const std::uint32_t i : {1u, 2u}) append_message(stream, i, pattern(100, i));
  impostor.peer.say(stream);
  ASSERT_TRUE(impostor.ranks.until([&] { return impostor.receive.done(); }));
  impostor.peer.say(tcp::encode_cause({.code = Code::timeout, .message = "late", .rank = 1}));
  impostor.peer.reset();
  Bytes second(100), bytes(100'000);
  Outcome late, send;
  impostor.link->recv(tag(2, 25), whole(second), late);
  impostor.link->send(tag(1), whole(bytes), send);  // meets the closed socket before the cause is read
  impostor.link->send(tag(1), whole(bytes), send);
  ASSERT_TRUE(impostor.ranks.until([&] { return !impostor.ranks.seen(0).failures.empty(); }));
  const Status& why = impostor.ranks.seen(0).failures[0].second;
  EXPECT_EQ(why.code(), Code::timeout) << why.message();
  EXPECT_TRUE(late.good());
  EXPECT_EQ(second, pattern(100, 2));
}

}  // namespace
}  // namespace hocket::testing_support
