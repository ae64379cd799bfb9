// What only a store behind a socket can suffer: servers that die, come late or are none.
#include "src/store/tcp_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <optional>
#include <thread>

#include "src/store/store_server.hpp"
#include "tests/support/generous.hpp"
#include "tests/unit/store/raw_client.hpp"

namespace hocket {
namespace {

using store::RawClient;
using store::RawListener;
using testing::HasSubstr;

Deadline soon() {
  return Deadline::after(std::chrono::milliseconds(200));
}

std::unique_ptr<StoreServer> serve_at(std::uint16_t port = 0) {
  auto server = StoreServer::start("127.0.0.1", port);
  EXPECT_TRUE(server.ok()) << server.status().message();
  return server.ok() ? std::move(*server) : nullptr;
}

std::unique_ptr<TcpStore> tcp_store_connect(std::uint16_t port) {
  auto store = TcpStore::connect("127.0.0.1", port, generous());
  EXPECT_TRUE(store.ok()) << store.status().message();
  return store.ok() ? std::move(*store) : nullptr;
}

TEST(TcpStore, KnowsWhetherItsHostRefuses) {
  auto server = serve_at();
  const auto store = tcp_store_connect(server->port());
  EXPECT_FALSE(store->is_refused(generous()));
  server.reset();
  EXPECT_TRUE(store->is_refused(generous()));
}

TEST(TcpStore, NobodyListens) {
  const RawListener deaf;  // holds the port, so that nobody else listens there
  const auto store = TcpStore::connect("127.0.0.1", deaf.port(), soon());
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().code(), Code::store_unreachable);
  EXPECT_THAT(store.status().message(), HasSubstr("127.0.0.1:" + std::to_string(deaf.port())));
  EXPECT_THAT(store.status().message(), HasSubstr("nothing listens there"));
}

TEST(TcpStore, UnknownHostsAreNamed) {
  const auto store = TcpStore::connect("no-such-host.invalid", 29500, soon());
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().code(), Code::store_unreachable);
  EXPECT_THAT(store.status().message(), HasSubstr("no-such-host.invalid"));
}

TEST(TcpStore, TheServerMayStartLater) {
  std::uint16_t port = 0;
  {
    const RawListener reserved;
    port = reserved.port();
  }
  Result<std::unique_ptr<TcpStore>> store = Status(Code::internal, "not called");
  std::thread client([&] { store = TcpStore::connect("127.0.0.1", port, generous()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const auto server = serve_at(port);
  client.join();
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_TRUE((*store)->set("key", "value", generous()).ok());
}

// The answer comes when nobody waits for it any more.
TEST(TcpStore, AnExceptionWhileItLooksAroundEndsTheWaitAlone) {
  const auto server = serve_at();
  const auto store = tcp_store_connect(server->port()), other = tcp_store_connect(server->port());
  const auto fails = []() -> Status { throw std::bad_alloc(); };
  EXPECT_THROW((void)store->await("late", generous(), fails), std::bad_alloc);
  ASSERT_TRUE(other->set("late", std::string(100'000, 'x'), generous()).ok());
  EXPECT_EQ(store->peek("none", generous()).value(), std::nullopt);
  EXPECT_EQ(store->get("late", generous()).value().size(), 100'000U);
}

TEST(TcpStore, ADyingServerEndsWaitsAndLaterCalls) {
  auto server = serve_at();
  const auto store = tcp_store_connect(server->port());
  std::vector<Result<std::string>> got(3, std::string());
  std::vector<std::thread> waiters;
  for (auto& result : got) waiters.emplace_back([&] { result = store->get("never", generous()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  server.reset();
  for (std::thread& waiter : waiters) waiter.join();
  for (const auto& result : got) {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.status().code(), Code::store_unreachable);
    EXPECT_THAT(result.status().message(), HasSubstr(store->url()));
  }
  EXPECT_EQ(store->set("key", "value", generous()).code(), Code::store_unreachable);
  EXPECT_EQ(store->list("", generous()).status().code(), Code::store_unreachable);
}

TEST(TcpStore, SomethingElseListens) {
  RawListener listener;
  listener.listen();
  std::thread other([&] {
    RawClient peer = listener.accept();
    peer.send("HTTP/1.1 400 Bad Request\r\n\r\n");
    (void)peer.receive_all();
  });
  const auto store = TcpStore::connect("127.0.0.1", listener.port(), generous());
  other.join();
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().code(), Code::protocol_error);
  EXPECT_THAT(store.status().message(), HasSubstr("HTTP/1.1"));
}

TEST(TcpStore, SomethingSilentListens) {
  RawListener listener;
  listener.listen();
  const auto store = TcpStore::connect("127.0.0.1", listener.port(), soon());
  ASSERT_FALSE(store.ok());
  EXPECT_EQ(store.status().code(), Code::store_unreachable);
  EXPECT_THAT(store.status().message(), HasSubstr("does not answer"));
}

TEST(TcpStore, RefusalsOfTheServerArePassedOn) {
  RawListener listener;
  listener.listen();
  std::thread other([&] {
    RawClient peer = listener.accept();
    peer.receive(store::wire::greeting_bytes);
    peer.send(store::wire::encode_greeting(
        store::wire::server_magic,
        {.word = static_cast<std::uint16_t>(store::wire::Verdict::refused), .text = "bring a key"}));
    (void)peer.receive_all();
  });
  const auto store = TcpStore::connect("127.0.0.1", listener.port(), generous());
  other.join();
  EXPECT_EQ(store.status().code(), Code::protocol_error);
  EXPECT_THAT(store.status().message(), HasSubstr("bring a key"));
}

// A client whose server answers as `answer` says, once greeted and asked.
Status tcp_store_ask(const std::string& answer, Deadline deadline) {
  RawListener listener;
  listener.listen();
  std::thread other([&] {
    RawClient peer = listener.accept();
    peer.receive(store::wire::greeting_bytes);
    peer.send(store::wire::encode_greeting(store::wire::server_magic, {}));
    peer.receive(store::wire::encode_request({.operation = store::wire::Operation::peek, .key = "k"}).size());
    peer.send(answer);
    (void)peer.receive_all();
  });
  Status status;
  {
    const auto store = tcp_store_connect(listener.port());
    status = store->peek("k", deadline).status();
  }
  other.join();
  return status;
}

TEST(TcpStore, NonsenseFromTheServerEndsTheConnection) {
  EXPECT_EQ(tcp_store_ask(std::string("\xff\xff\xff\xff", 4), generous()).code(), Code::store_unreachable);
  EXPECT_EQ(tcp_store_ask(std::string("\0\0\0\0", 4), generous()).code(), Code::store_unreachable);
  EXPECT_EQ(tcp_store_ask(std::string("\1\0\0\0x", 5), generous()).code(), Code::store_unreachable);
  EXPECT_EQ(tcp_store_ask(store::wire::encode_response_head(1, static_cast<Code>(99), 0), generous()).code(),
            Code::store_unreachable);
}

TEST(TcpStore, AServerThatDoesNotAnswerIsUnreachable) {
  const Status status = tcp_store_ask("", soon());
  EXPECT_EQ(status.code(), Code::store_unreachable);
  EXPECT_THAT(status.message(), HasSubstr("\"k\""));
  // An answer to another question is none.
  EXPECT_EQ(tcp_store_ask(store::wire::encode_response_head(777, Code::ok, 0), soon()).code(), Code::store_unreachable);
}

// The deadline passes in the middle of a frame: nothing that is sent later could be understood.
TEST(TcpStore, AServerThatDoesNotReadIsUnreachable) {
  RawListener listener;
  listener.listen();
  std::thread other;
  std::optional<RawClient> peer;
  other = std::thread([&] {
    peer.emplace(listener.accept());
    peer->receive(store::wire::greeting_bytes);
    peer->send(store::wire::encode_greeting(store::wire::server_magic, {}));
  });
  const auto store = tcp_store_connect(listener.port());
  other.join();
  const std::string value(store_value_bytes_max, 'v');
  Status status = store->set("key", value, soon());
  for (int round = 0; round < 100 && status.message().find("took no more requests") == std::string::npos; ++round) {
    status = store->set("key", value, soon());  // until the system's buffers are full
  }
  EXPECT_EQ(status.code(), Code::store_unreachable);
  EXPECT_THAT(status.message(), HasSubstr("took no more requests"));
  EXPECT_EQ(store->peek("key", generous()).status().message(), status.message());  // at once: there is no way back
}

TEST(TcpStore, GetsThatWereGivenUpDoNotPileUp) {
  const auto server = serve_at();
  const auto store = tcp_store_connect(server->port());
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ(store->get("key", Deadline::after(std::chrono::milliseconds(1))).status().code(), Code::timeout);
  }
  ASSERT_TRUE(store->set("key", "value", generous()).ok());
  EXPECT_EQ(store->get("key", generous()).value(), "value");
  EXPECT_EQ(store->get("other", soon()).status().code(), Code::timeout);
}

// What a stranger says must not steer a terminal, neither at the door nor later.
TEST(TcpStore, ShowsWhatAStrangerSaysAsText) {
  store::RawListener listener;
  listener.listen();
  std::optional<store::RawClient> failing;
  std::thread stranger([&] {
    store::RawClient refusing = listener.accept();
    refusing.send(store::wire::encode_greeting(store::wire::server_magic, {.word = 2, .text = "\x1b[2Jno"}));
    failing.emplace(listener.accept());
    failing->send(store::wire::encode_greeting(store::wire::server_magic, {}));
    failing->receive(store::wire::greeting_bytes);
    failing->receive(1);  // of the request
    failing->send(store::wire::encode_response_head(1, Code::out_of_resources, 5) + "\x1b[2Jf");
  });
  const auto refused = TcpStore::connect("127.0.0.1", listener.port(), generous());
  EXPECT_THAT(refused.status().message(), HasSubstr("\\x1b[2Jno"));
  const auto store = TcpStore::connect("127.0.0.1", listener.port(), generous());
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ((*store)->set("key", "value", generous()).message(), "\\x1b[2Jf");
  stranger.join();
}

}  // namespace
}  // namespace hocket
