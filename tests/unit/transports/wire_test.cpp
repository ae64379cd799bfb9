#include "transports/tcp/wire.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <utility>

namespace hocket::tcp {
namespace {

using ::testing::HasSubstr;

const Header message{.kind = FrameKind::message,
                     .tag = {.communicator = 0x01020304,
                             .sequence = 0xfffffffe,
                             .call = {.kind = SignatureKind::list,
                                      .collective = Collective::reduce_scatter,
                                      .dtype = DataType::int64,
                                      .op = ReduceOp::max,
                                      .wire = WireFormat::bfloat16,
                                      .algorithm = 0xa1a2a3a4,
                                      .root = 7,
                                      .count = std::numeric_limits<std::uint64_t>::max(),
                                      .digest = 0xd1d2d3d4d5d6d7d8}},
                     .bytes = 0xffffffff};

Frame with(Frame frame, std::size_t at, unsigned value) {
  frame[at] = static_cast<std::byte>(value);
  return frame;
}

TEST(Wire, HeaderComesBack) {
  const auto parsed = parse_header(encode(message));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(*parsed, message);
  const Header goodbye{.kind = FrameKind::goodbye};
  ASSERT_TRUE(parse_header(encode(goodbye)).ok());
  EXPECT_EQ(*parse_header(encode(goodbye)), goodbye);
}

TEST(Wire, HeaderIsLaidOutAsDocumented) {
  const Frame frame = encode(message);
  EXPECT_EQ(static_cast<char>(frame[0]), 'H');
  EXPECT_EQ(static_cast<char>(frame[1]), 'K');
  EXPECT_EQ(frame[2], std::byte{wire_version});
  EXPECT_EQ(frame[3], std::byte{1});
  EXPECT_EQ(frame[4], std::byte{4});  // communicator, least byte first
  EXPECT_EQ(frame[8], std::byte{0xfe});
  EXPECT_EQ(frame[12], std::byte{0xff});  // bytes
  EXPECT_EQ(frame[16], static_cast<std::byte>(SignatureKind::list));
  EXPECT_EQ(frame[17], static_cast<std::byte>(Collective::reduce_scatter));
  EXPECT_EQ(frame[18], static_cast<std::byte>(DataType::int64));
  EXPECT_EQ(frame[19], static_cast<std::byte>(ReduceOp::max));
  EXPECT_EQ(frame[20], static_cast<std::byte>(WireFormat::bfloat16));
  EXPECT_EQ(frame[21], std::byte{0});
  EXPECT_EQ(frame[22], std::byte{0});     // bytes of an opaque element
  EXPECT_EQ(frame[24], std::byte{0xa4});  // algorithm
  EXPECT_EQ(frame[28], std::byte{7});     // root
  EXPECT_EQ(frame[32], std::byte{0xff});  // count
  EXPECT_EQ(frame[40], std::byte{0xd8});  // digest
}

TEST(Wire, HeaderTellsTheEndsOfAMessageApart) {
  Header sent = message;
  sent.tag.call.kind = SignatureKind::send;
  sent.tag.call.collective = Collective::send;
  Header received = sent;
  received.tag.call = as_received(sent.tag.call);
  for (const Header& header : {sent, received}) {
    const auto parsed = parse_header(encode(header));
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(*parsed, header);
  }
  std::swap(sent.tag.call.collective, received.tag.call.collective);
  EXPECT_FALSE(parse_header(encode(sent)).ok());
  EXPECT_FALSE(parse_header(encode(received)).ok());
}

TEST(Wire, HeaderHasTheSizeOfOpaqueElements) {
  Header opaque = message;
  opaque.tag.call.dtype = DataType::opaque;
  EXPECT_FALSE(parse_header(encode(opaque)).ok()) << "elements of no bytes";
  opaque.tag.call.opaque_bytes = 0x1000;
  const auto parsed = parse_header(encode(opaque));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(*parsed, opaque);
  opaque.tag.call.opaque_bytes = 0x1001;
  EXPECT_FALSE(parse_header(encode(opaque)).ok());
}

TEST(Wire, HeaderSaysWhichFieldIsWrong) {
  const Frame right = encode(message);
  const struct {
    std::size_t at;
    unsigned value;
    const char* says;
  } wrong[] = {{0, 'X', "magic"},
               {1, 'X', "magic"},
               {2, 99, "version 99"},
               {3, 0, "kind 0"},
               {3, 5, "kind 5"},
               {3, 2, "too long"},
               {3, 3, "payload"},
               {16, signature_kinds, "kind of call"},
               {16, static_cast<unsigned>(SignatureKind::send), "not of its kind"},
               {16, static_cast<unsigned>(SignatureKind::receive), "not of its kind"},
               {17, static_cast<unsigned>(Collective::send), "not of its kind"},
               {17, static_cast<unsigned>(Collective::recv), "not of its kind"},
               {17, 255, "collective"},
               {18, 255, "dtype"},
               {19, 255, "reduction"},
               {20, 3, "wire format"},
               {21, 1, "nothing"},
               {22, 1, "elements of 1 bytes"},
               {31, 0x80, "root"}};
  for (const auto& [at, value, says] : wrong) {
    const auto parsed = parse_header(with(right, at, value));
    ASSERT_FALSE(parsed.ok()) << says;
    EXPECT_EQ(parsed.status().code(), Code::protocol_error);
    EXPECT_THAT(parsed.status().message(), HasSubstr(says));
  }
}

TEST(Wire, RandomHeadersAreRefusedOrComeBackAlike) {
  std::mt19937 random(1);
  int accepted = 0;
  for (int i = 0; i < 200'000; ++i) {
    Frame frame = encode(message);
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int change = 0; change < changes; ++change) frame = with(frame, random() % header_bytes, random() % 256);
    const auto parsed = parse_header(frame);
    if (!parsed) continue;
    ++accepted;
    EXPECT_EQ(encode(*parsed), frame);
  }
  EXPECT_GT(accepted, 0);
}

TEST(Wire, HelloComesBackAndIsChecked) {
  const Hello hello{.kind = HelloKind::welcome, .group = 0x1122334455667788, .from = 3, .to = 4095, .stream = {2, 4}};
  const HelloFrame right = encode(hello);
  ASSERT_TRUE(parse_hello(right).ok());
  EXPECT_EQ(*parse_hello(right), hello);
  const struct {
    std::size_t at;
    unsigned value;
    const char* says;
  } wrong[] = {{0, 'G', "protocol"},
               {4, 1, "version 1"},
               {5, 0, "kind"},
               {5, 6, "kind"},
               {6, 1, "proof of a wrong length"},
               {7, 1, "proof of a wrong length"},
               {5, 3, "proof of a wrong length"},
               {19, 0x80, "negative"},
               {23, 0xff, "negative"},
               {24, 4, "stream 4 of 4"},
               {26, 0, "stream 2 of 0"},
               {26, 17, "stream 2 of 17"}};
  for (const auto& [at, value, says] : wrong) {
    HelloFrame frame = right;
    frame[at] = static_cast<std::byte>(value);
    ASSERT_FALSE(parse_hello(frame).ok()) << says;
    EXPECT_THAT(parse_hello(frame).status().message(), HasSubstr(says));
  }
}

TEST(Wire, SharesCoverAMessage) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, striped_bytes_min - 1, striped_bytes_min,
                                  striped_bytes_min + 1, std::size_t{1'000'003}, std::size_t{UINT32_MAX}}) {
    for (std::uint16_t of = 1; of <= streams_max; ++of) {
      std::size_t end = 0;
      for (std::uint16_t index = 0; index < of; ++index) {
        const Share share = share_of(bytes, {index, of});
        if (share.bytes == 0) continue;
        EXPECT_EQ(share.begin, end) << bytes << " over " << of;
        EXPECT_EQ(share.begin % share_alignment, 0u);
        EXPECT_TRUE(index == 0 || is_striped(bytes, of));
        end += share.bytes;
      }
      EXPECT_EQ(end, bytes) << "over " << of;
    }
  }
}

const Cause whole_cause{.code = Code::mismatch,
                        .message = "rank 1 called this while rank 2 called that",
                        .rank = 2,
                        .peer = 1,
                        .operation = "allreduce",
                        .sequence = std::uint64_t{1} << 40,
                        .elapsed_seconds = 0.25};

std::span<const std::byte> payload_of(const std::vector<std::byte>& frame) {
  return std::span(frame).subspan(header_bytes);
}

void expect_equal(const Cause& a, const Cause& b) {
  EXPECT_EQ(a.code, b.code);
  EXPECT_EQ(a.message, b.message);
  EXPECT_EQ(a.rank, b.rank);
  EXPECT_EQ(a.peer, b.peer);
  EXPECT_EQ(a.operation, b.operation);
  EXPECT_EQ(a.sequence, b.sequence);
  EXPECT_EQ(a.elapsed_seconds, b.elapsed_seconds);
}

std::vector<std::byte> frame_of(const Cause& cause) {
  const CauseFrame frame = encode_cause(cause);
  return {frame.begin(), frame.end()};
}

TEST(Wire, CauseComesBack) {
  const auto frame = frame_of(whole_cause);
  const auto header = parse_header(std::span(frame).first<header_bytes>());
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->kind, FrameKind::cause);
  EXPECT_EQ(header->bytes + header_bytes, frame.size());
  const auto parsed = parse_cause(payload_of(frame));
  ASSERT_TRUE(parsed.has_value());
  expect_equal(*parsed, whole_cause);
}

TEST(Wire, ALongCauseIsCutToFit) {
  Cause cause = whole_cause;
  cause.message.assign(100'000, 'm');
  cause.operation.assign(100'000, 'o');
  const auto frame = frame_of(cause);
  EXPECT_EQ(frame.size(), header_bytes + cause_bytes_max);
  ASSERT_TRUE(parse_header(std::span(frame).first<header_bytes>()).ok());
  const auto parsed = parse_cause(payload_of(frame));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_GT(parsed->message.size(), 3000u);
  EXPECT_EQ(parsed->operation, std::string(64, 'o'));
}

TEST(Wire, ACutOrPaddedCauseIsRefused) {
  auto frame = frame_of(whole_cause);
  const auto payload = payload_of(frame);
  for (std::size_t length = 0; length < payload.size(); ++length) {
    EXPECT_FALSE(parse_cause(payload.first(length)).has_value()) << length;
  }
  frame.push_back({});
  EXPECT_FALSE(parse_cause(payload_of(frame)).has_value());
}

TEST(Wire, ACauseMustBeAFailure) {
  for (const unsigned code : {0u, 1u, 17u, 255u}) {
    auto frame = frame_of(whole_cause);
    frame[header_bytes] = static_cast<std::byte>(code);
    EXPECT_FALSE(parse_cause(payload_of(frame)).has_value()) << code;
  }
}

TEST(Wire, ACauseCannotSteerATerminal) {
  Cause cause = whole_cause;
  cause.message = "red \x1b[31m and\na new line, but ∘ stays";
  const auto parsed = parse_cause(payload_of(frame_of(cause)));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->message, "red \\x1b[31m and\\x0aa new line, but ∘ stays");
}

TEST(Wire, RandomCausesDoNoHarm) {
  std::mt19937 random(2);
  for (int i = 0; i < 100'000; ++i) {
    auto frame = frame_of(whole_cause);
    for (std::size_t change = random() % 6; change > 0; --change) {
      frame[header_bytes + random() % (frame.size() - header_bytes)] = static_cast<std::byte>(random() % 256);
    }
    const auto parsed = parse_cause(payload_of(frame).first(random() % (frame.size() - header_bytes + 1)));
    EXPECT_TRUE(!parsed || parsed->message.size() + parsed->operation.size() <= frame.size());
  }
}

}  // namespace
}  // namespace hocket::tcp
