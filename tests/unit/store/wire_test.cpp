#include "src/store/wire.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <vector>

namespace hocket::store::wire {
namespace {

std::vector<std::string> sample_requests() {
  return {
      encode_request({.id = 1, .operation = Operation::set, .key = "key", .value = std::string_view("a\0b", 3)}),
      encode_request({.id = 2, .operation = Operation::get, .key = "key"}),
      encode_request({.id = 3, .operation = Operation::peek, .key = "key"}),
      encode_request({.id = 4, .operation = Operation::add, .key = "key", .delta = -5}),
      encode_request({.id = 5, .operation = Operation::compare_and_set, .key = "key", .value = "new"}),
      encode_request({.id = 6, .operation = Operation::compare_and_set, .key = "k", .value = "", .expected = "old"}),
      encode_request({.id = 7, .operation = Operation::remove, .key = "key"}),
      encode_request({.id = 8, .operation = Operation::list, .key = "", .value = "after"}),
      encode_request({.id = 9, .operation = Operation::cancel}),
      encode_request({.id = 10,
                      .operation = Operation::claim,
                      .key = "k",
                      .value = "new",
                      .expected = "old",
                      .bequest = {.key = "heir", .value = "inherited"}}),
      encode_request({.id = 11,
                      .operation = Operation::allgather,
                      .key = "p/",
                      .value = "mine",
                      .meeting = {.members = 3,
                                  .member = 2,
                                  .outcome = "o",
                                  .complete = "all",
                                  .wanted = std::string_view("\0\0\0\0\1\0\0\0", 8)}}),
  };
}

std::string_view body_of(std::string_view frame) {
  return frame.substr(frame_head_bytes);
}

// Runs a parser on a copy that ends where its memory ends, so that address sanitizer sees any byte read beyond it.
template <class Parser>
auto exactly(std::string_view bytes, Parser parser) {
  const std::vector<char> copy(bytes.begin(), bytes.end());
  return parser(std::string_view(copy.data(), copy.size()));
}

void parse_everything(std::string_view bytes) {
  const auto parse = [](std::string_view exact) {
    (void)parse_greeting(exact, client_magic);
    (void)parse_frame(exact, request_bytes_max);
    if (const auto request = parse_request(exact)) {
      // What a parser lets through obeys the bounds, and lies inside what it was given.
      EXPECT_LE(request->key.size(), store_key_bytes_max);
      EXPECT_LE(request->value.size(), store_value_bytes_max);
      EXPECT_LE(request->key.size() + request->value.size() + request->expected.value_or("").size(), exact.size());
    }
    (void)parse_response(exact);
    (void)parse_sum(exact);
    std::vector<std::string> keys;
    (void)parse_page(exact, keys);
    (void)parse_gathered(exact, 2);
  };
  exactly(bytes, parse);
}

TEST(Wire, RequestsSurviveTheJourney) {
  const auto frames = sample_requests();
  std::vector<Request> requests;
  for (const std::string& frame : frames) {
    const auto body = parse_frame(frame, request_bytes_max);
    ASSERT_TRUE(body.ok() && *body);
    EXPECT_EQ((*body)->size() + frame_head_bytes, frame.size());
    const auto request = parse_request(**body);
    ASSERT_TRUE(request.ok()) << request.status().message();
    EXPECT_EQ(encode_request(*request), frame);
    requests.push_back(*request);
  }
  EXPECT_EQ(requests[0].value, std::string_view("a\0b", 3));
  EXPECT_EQ(requests[3].delta, -5);
  EXPECT_EQ(requests[4].expected, std::nullopt);
  EXPECT_EQ(requests[5].expected, "old");
  EXPECT_EQ(requests[7].value, "after");
}

TEST(Wire, LayoutIsLittleEndianAndFixed) {
  EXPECT_EQ(encode_greeting(client_magic, {.version = 0x0201, .word = 3, .text = "hi"}),
            std::string("hktstor?\x01\x02\x03\x00\x02\x00\x00\x00hi", 18));
  EXPECT_EQ(encode_request({.id = 0x0102, .operation = Operation::add, .key = "k", .delta = -2}),
            std::string("\x14\0\0\0\x02\x01\0\0\0\0\0\0\x04\x01\0k\xfe\xff\xff\xff\xff\xff\xff\xff", 24));
  EXPECT_EQ(encode_response_head(7, Code::not_found, 2), std::string("\x0b\0\0\0\x07\0\0\0\0\0\0\0\x0e", 13));
}

TEST(Wire, ResponsesSurviveTheJourney) {
  const std::string frame = encode_response_head(42, Code::timeout, 5) + "words";
  const auto body = parse_frame(frame, response_bytes_max);
  ASSERT_TRUE(body.ok() && *body);
  const auto response = parse_response(**body);
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->id, 42u);
  EXPECT_EQ(response->code, Code::timeout);
  EXPECT_EQ(response->payload, "words");
  EXPECT_EQ(parse_sum(encode_sum(INT64_MIN)).value(), INT64_MIN);
  std::vector<std::string> keys{"before"};
  EXPECT_TRUE(parse_page(encode_page({"a", std::string("\0", 1)}, true), keys).value());
  EXPECT_EQ(keys, (std::vector<std::string>{"before", "a", std::string("\0", 1)}));
  EXPECT_FALSE(parse_page(encode_page({}, false), keys).value());
}

TEST(Wire, GatheredValuesSurviveTheJourney) {
  const Allgathered sent{.outcome = "all there", .values = {"", std::nullopt, std::string("a\0b", 3)}};
  const std::string payload = encode_gathered(sent);
  const auto got = parse_gathered(payload, 3);
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(got->outcome, sent.outcome);
  EXPECT_EQ(got->values, sent.values);
  for (const std::size_t wanted : {std::size_t{0}, std::size_t{2}, std::size_t{4}}) {
    EXPECT_FALSE(parse_gathered(payload, wanted).ok()) << wanted;
  }
  for (std::size_t bytes = 0; bytes < payload.size(); ++bytes) {
    EXPECT_FALSE(exactly(std::string_view(payload).substr(0, bytes), [](std::string_view exact) {
      return parse_gathered(exact, 3).ok();
    })) << bytes;
  }
  EXPECT_EQ(parse_wanted(encode_wanted({3, 0, 70000})), (std::vector<Rank>{3, 0, 70000}));
}

TEST(Wire, TruncatedFramesAskForMore) {
  for (const std::string& frame : sample_requests()) {
    for (std::size_t bytes = 0; bytes < frame.size(); ++bytes) {
      const bool incomplete = exactly(std::string_view(frame).substr(0, bytes), [](std::string_view exact) {
        const auto body = parse_frame(exact, request_bytes_max);
        return body.ok() && !*body;
      });
      EXPECT_TRUE(incomplete) << bytes << " of " << frame.size();
    }
  }
}

// A body whose frame claims a shorter length: never a request with another meaning than the fields that are there.
TEST(Wire, TruncatedBodiesAreRefusedUnlessTheValueIsCut) {
  for (const std::string& frame : sample_requests()) {
    const std::string_view body = body_of(frame);
    const Request whole = parse_request(body).value();
    for (std::size_t bytes = 0; bytes < body.size(); ++bytes) {
      const bool in_value = bytes >= body.size() - whole.value.size();
      const bool parsed =
          exactly(body.substr(0, bytes), [](std::string_view exact) { return parse_request(exact).ok(); });
      EXPECT_EQ(parsed, in_value) << name_of(whole.operation) << ", " << bytes << " of " << body.size();
    }
  }
}

TEST(Wire, TrailingBytesAreRefused) {
  for (const std::string& frame : sample_requests()) {
    const Request whole = parse_request(body_of(frame)).value();
    const bool open_end = whole.operation == Operation::set || whole.operation == Operation::compare_and_set ||
                          whole.operation == Operation::claim || whole.operation == Operation::list ||
                          whole.operation == Operation::allgather;
    EXPECT_EQ(parse_request(std::string(body_of(frame)) + "x").ok(), open_end) << name_of(whole.operation);
  }
}

TEST(Wire, FramesOutOfBoundsAreRefusedBeforeTheyArrive) {
  const auto length = [](std::uint32_t bytes) {
    std::string head;
    for (int i = 0; i < 4; ++i) head += static_cast<char>(bytes >> (8 * i) & 0xff);
    return head;
  };
  EXPECT_EQ(parse_frame(length(0), 100).status().code(), Code::protocol_error);
  EXPECT_TRUE(parse_frame(length(100), 100).ok());
  EXPECT_EQ(parse_frame(length(101), 100).status().code(), Code::protocol_error);
  EXPECT_EQ(parse_frame(length(UINT32_MAX), request_bytes_max).status().code(), Code::protocol_error);
}

TEST(Wire, RequestsOutOfBoundsAreRefused) {
  const std::string long_key(store_key_bytes_max + 1, 'k'), long_value(store_value_bytes_max + 1, 'v');
  const auto refused = [](const Request& request) {
    return parse_request(body_of(encode_request(request))).status().code() == Code::protocol_error;
  };
  EXPECT_TRUE(refused({.operation = Operation::get, .key = ""}));
  EXPECT_TRUE(refused({.operation = Operation::get, .key = long_key}));
  EXPECT_TRUE(refused({.operation = Operation::set, .key = "k", .value = long_value}));
  EXPECT_TRUE(refused({.operation = Operation::compare_and_set, .key = "k", .value = long_value}));
  EXPECT_TRUE(refused({.operation = Operation::compare_and_set, .key = "k", .expected = long_value}));
  EXPECT_TRUE(refused({.operation = Operation::list, .key = long_key}));
  EXPECT_TRUE(refused({.operation = Operation::list, .value = long_key}));
  EXPECT_TRUE(refused({.operation = Operation::cancel, .key = "k"}));
  EXPECT_TRUE(refused({.operation = static_cast<Operation>(0), .key = "k"}));
  EXPECT_TRUE(refused({.operation = static_cast<Operation>(11), .key = "k"}));
  const auto refused_meeting = [&](const Meeting& meeting) {
    return refused({.operation = Operation::allgather, .key = "k", .meeting = meeting});
  };
  const std::string many(4 * (wanted_max + 1), '\0');
  EXPECT_FALSE(refused_meeting({.members = 1, .member = 0, .outcome = "o"}));
  EXPECT_TRUE(refused_meeting({.members = 1, .member = 1, .outcome = "o"}));
  EXPECT_TRUE(refused_meeting({.members = 1, .member = 0, .outcome = ""}));
  EXPECT_TRUE(refused_meeting({.members = 1, .member = 0, .outcome = long_key}));
  EXPECT_TRUE(refused_meeting({.members = 1, .member = 0, .outcome = "o", .complete = long_key}));
  EXPECT_TRUE(refused_meeting({.members = 1, .member = 0, .outcome = "o", .wanted = many}));
  EXPECT_FALSE(refused({.operation = Operation::set, .key = "k", .value = std::string_view(long_value).substr(1)}));
}

TEST(Wire, LargestRequestFitsItsFrame) {
  const std::string key(store_key_bytes_max, 'k'), value(store_value_bytes_max, 'v');
  const std::string frame =
      encode_request({.operation = Operation::compare_and_set, .key = key, .value = value, .expected = value});
  const auto body = parse_frame(frame, request_bytes_max);
  ASSERT_TRUE(body.ok() && *body);
  EXPECT_TRUE(parse_request(**body).ok());
}

TEST(Wire, GreetingsAreRecognisedByteByByte) {
  const std::string greeting = encode_greeting(client_magic, {.text = "proof"});
  for (std::size_t bytes = 0; bytes < greeting.size(); ++bytes) {
    const auto parsed = parse_greeting(std::string_view(greeting).substr(0, bytes), client_magic);
    EXPECT_TRUE(parsed.ok() && !*parsed) << bytes;
  }
  const std::string followed = greeting + "more";
  const auto parsed = parse_greeting(followed, client_magic);
  ASSERT_TRUE(parsed.ok() && *parsed);
  EXPECT_EQ((*parsed)->text, "proof");
  EXPECT_EQ((*parsed)->size(), greeting.size());
  // One wrong byte is enough.
  EXPECT_EQ(parse_greeting("G", client_magic).status().code(), Code::protocol_error);
  EXPECT_EQ(parse_greeting("hktstor!", client_magic).status().code(), Code::protocol_error);
  EXPECT_THAT(parse_greeting("GET / HTTP/1.1\r\n\r\n", client_magic).status().message(),
              testing::HasSubstr("GET / HTTP/1.1"));
  const std::string long_text(greeting_text_bytes_max + 1, 'x');
  EXPECT_EQ(parse_greeting(encode_greeting(client_magic, {.text = long_text}), client_magic).status().code(),
            Code::protocol_error);
}

TEST(Wire, RandomBytesDoNoHarm) {
  std::mt19937 random(20260101);
  std::string bytes;
  for (int round = 0; round < 100'000; ++round) {
    bytes.resize(random() % 80);
    for (char& byte : bytes) byte = static_cast<char>(random());
    parse_everything(bytes);
  }
}

TEST(Wire, DamagedMessagesDoNoHarm) {
  std::mt19937 random(20260102);
  std::vector<std::string> samples = sample_requests();
  samples.push_back(encode_greeting(client_magic, {.text = "proof"}));
  samples.push_back(encode_response_head(1, Code::ok, 3) + "abc");
  samples.push_back("1234" + encode_page({"a", "bb", "ccc"}, true));
  for (int round = 0; round < 100'000; ++round) {
    std::string bytes = samples[random() % samples.size()];
    for (auto changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8)); break;
        case 2: bytes.resize(at + 1); break;
        case 3: bytes.insert(at, 1 + random() % 5, static_cast<char>(random())); break;
      }
    }
    parse_everything(bytes);
    parse_everything(body_of(bytes + std::string(frame_head_bytes, '\0')));
  }
}

}  // namespace
}  // namespace hocket::store::wire
