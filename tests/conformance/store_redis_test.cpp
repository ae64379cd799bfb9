#include <optional>

#include "src/store/open_store.hpp"
#include "tests/conformance/store_meeting_suite.hpp"
#include "tests/support/redis_server.hpp"

namespace hocket {
namespace {

std::unique_ptr<Store> open_or_throw(const std::string& url) {
  auto opened = open_store(url, generous());
  if (!opened) throw std::runtime_error(opened.status().message());
  return std::move(*opened);
}

// Two clients of one server, with a password, in a database and below a prefix that means something in patterns.
struct RedisBackend {
  static std::string problem() { return RedisServer::problem(); }

  RedisBackend() {
    if (!problem().empty()) return;
    server.emplace(std::vector<std::string>{"--requirepass", "secret:word"});
    const std::string place = "127.0.0.1:" + std::to_string(server->port());
    one = open_or_throw("redis://default:secret%3Aword@" + place + "/3?prefix=a%2A%5B");
    two = open_or_throw("redis://:secret%3Aword@" + place + "/3?prefix=a%2A%5B");
  }
  Store& first() { return *one; }
  Store& second() { return *two; }

  std::optional<RedisServer> server;
  std::unique_ptr<Store> one, two;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Redis, StoreSuite, RedisBackend);
INSTANTIATE_TYPED_TEST_SUITE_P(Redis, StoreMeetingSuite, RedisBackend);

class RedisStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string problem = RedisServer::problem(); !problem.empty()) GTEST_SKIP() << problem;
  }
};

TEST_F(RedisStoreTest, ConnectsAgainToAServerThatWasStartedAgain) {
  RedisServer server;
  const auto store = open_or_throw(server.url());
  ASSERT_TRUE(store->set("key", "value", generous()).ok());
  server.end();
  EXPECT_EQ(store->peek("key", generous()).status().code(), Code::store_unreachable);
  EXPECT_EQ(store->peek("key", generous()).status().code(), Code::store_unreachable);
  server.start();
  Result<std::optional<std::string>> found = Status(Code::timeout, "");
  for (const Deadline deadline = generous(); !found.ok() && !deadline.passed();) found = store->peek("key", generous());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(*found, std::nullopt);
}

TEST_F(RedisStoreTest, RefusalsOfTheServerArePassedOnWithoutThePassword) {
  const RedisServer server({"--requirepass", "right"});
  const std::string place = "127.0.0.1:" + std::to_string(server.port());
  for (const std::string& url : {"redis://:wrong@" + place, "redis://" + place}) {
    const auto opened = open_store(url, generous());
    EXPECT_EQ(opened.status().code(), Code::mismatch) << url;
    EXPECT_THAT(opened.status().message(), testing::HasSubstr("redis://" + place));
    EXPECT_THAT(opened.status().message(), testing::Not(testing::HasSubstr("wrong@")));
  }
}

TEST_F(RedisStoreTest, AServerThatDoesNotAnswerIsUnreachableByTheDeadline) {
  RedisServer server;
  const auto store = open_or_throw(server.url());
  server.signal(SIGSTOP);
  EXPECT_EQ(store->set("key", "value", soon()).code(), Code::store_unreachable);
  EXPECT_EQ(store->peek("key", soon()).status().code(), Code::store_unreachable);
  server.signal(SIGCONT);
  EXPECT_TRUE(store->set("key", "value", generous()).ok());
}

// What a process claimed that is gone, and what a living one has.
TEST_F(RedisStoreTest, ClaimsHaveALeaseThatTheirOwnerRenews) {
  const RedisServer server;
  const auto lives = open_or_throw(server.url());
  EXPECT_EQ(lives->claim("kept", std::nullopt, "x", {}, generous()).value(), std::nullopt);
  EXPECT_EQ(open_or_throw(server.url())->claim("left", std::nullopt, "x", {}, generous()).value(), std::nullopt);
  for (const Deadline deadline = generous(); lives->peek("left", generous()).value() && !deadline.passed();) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(lives->peek("left", generous()).value(), std::nullopt);
  EXPECT_EQ(lives->peek("kept", generous()).value(), "x");
}

}  // namespace
}  // namespace hocket
