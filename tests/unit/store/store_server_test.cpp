#include "src/store/store_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <random>
#include <thread>

#include "src/store/tcp_store.hpp"
#include "tests/support/generous.hpp"
#include "tests/unit/store/raw_client.hpp"

namespace hocket {
namespace {

using store::RawClient;
namespace wire = store::wire;
using testing::HasSubstr;

std::unique_ptr<StoreServer> serve(const std::string& host = "127.0.0.1", const StoreServerOptions& options = {}) {
  auto server = StoreServer::start(host, 0, options);
  EXPECT_TRUE(server.ok()) << server.status().message();
  return server.ok() ? std::move(*server) : nullptr;
}

std::unique_ptr<TcpStore> store_server_connect(const std::string& host, std::uint16_t port) {
  auto store = TcpStore::connect(host, port, generous());
  EXPECT_TRUE(store.ok()) << store.status().message();
  return store.ok() ? std::move(*store) : nullptr;
}

std::size_t occurrences(const std::string& text, const std::string& of) {
  std::size_t count = 0;
  for (std::size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + 1)) ++count;
  return count;
}

TEST(StoreServer, ATakenPortIsExplained) {
  const auto server = serve();
  const auto second = StoreServer::start("127.0.0.1", server->port());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), Code::address_in_use);
  EXPECT_THAT(second.status().message(), HasSubstr("127.0.0.1:" + std::to_string(server->port())));
}

TEST(StoreServer, APortIsFreeAgainAfterTheServer) {
  auto server = serve();
  const std::uint16_t port = server->port();
  const auto store = store_server_connect("127.0.0.1", port);
  server.reset();  // closes first, so that its side of the connection lingers
  const auto again = StoreServer::start("127.0.0.1", port);
  EXPECT_TRUE(again.ok()) << again.status().message();
}

TEST(StoreServer, AddressesOfOthersAreExplained) {
  for (const char* host : {"", "203.0.113.1", "no-such-host.invalid"}) {
    const auto server = StoreServer::start(host, 0);
    ASSERT_FALSE(server.ok()) << host;
    EXPECT_EQ(server.status().code(), Code::invalid_environment) << host;
    EXPECT_THAT(server.status().message(), HasSubstr(host));
  }
}

TEST(StoreServer, ServesNamesAndAllInterfaces) {
  for (const char* host : {"localhost", "0.0.0.0"}) {
    const auto server = serve(host);
    for (const char* way : {"localhost", "127.0.0.1"}) {
      EXPECT_TRUE(store_server_connect(way, server->port())->set("key", way, generous()).ok()) << host << " " << way;
    }
  }
}

TEST(StoreServer, ServesIpv6) {
  if (const auto probe = StoreServer::start("::1", 0); !probe)
    GTEST_SKIP() << "no IPv6 here: " << probe.status().message();
  const auto loopback = serve("::1");
  EXPECT_EQ(loopback->url(), "tcp://[::1]:" + std::to_string(loopback->port()));
  EXPECT_TRUE(store_server_connect("::1", loopback->port())->set("key", "value", generous()).ok());
  const auto all = serve("::");
  for (const char* way : {"::1", "127.0.0.1"}) {
    EXPECT_TRUE(store_server_connect(way, all->port())->set("key", way, generous()).ok()) << way;
  }
}

TEST(StoreServer, CountsItsClients) {
  const auto server = serve();
  EXPECT_EQ(server->clients(), 0u);
  EXPECT_TRUE(server->wait_until_no_clients(generous()));
  auto one = store_server_connect("127.0.0.1", server->port());
  auto two = store_server_connect("127.0.0.1", server->port());
  const RawClient stranger(server->port());  // connected, but it has not greeted
  EXPECT_EQ(server->clients(), 2u);
  EXPECT_FALSE(server->wait_until_no_clients(Deadline::after(std::chrono::milliseconds(20))));
  std::thread leaver([&] {
    one.reset();
    two.reset();
  });
  EXPECT_TRUE(server->wait_until_no_clients(generous()));
  EXPECT_EQ(server->clients(), 0u);
  leaver.join();
  EXPECT_TRUE(server->wait_until_no_clients(generous(), 2));
  EXPECT_FALSE(server->wait_until_no_clients(Deadline::after(std::chrono::milliseconds(20)), 3));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(server->wait_until_no_clients(generous(), 3, stop.get_token()));
}

// Each kind of garbage ends its connection, is logged once, and leaves a client that waits meanwhile unharmed.
TEST(StoreServer, GarbageIsRefusedAndLoggedOnce) {
  testing::internal::CaptureStderr();
  const auto server = serve("127.0.0.1", {.greeting_timeout = std::chrono::milliseconds(200)});
  const auto store = store_server_connect("127.0.0.1", server->port());
  Result<std::string> got = std::string();
  std::thread waiter([&] { got = store->get("key", generous()); });

  const std::string greeting = store::wire::encode_greeting(store::wire::client_magic, {});
  const std::string request = wire::encode_request({.id = 1, .operation = wire::Operation::get, .key = "k"});
  std::string random_bytes(100'000, '\0');
  std::mt19937 random(20260105);
  for (char& byte : random_bytes) byte = static_cast<char>(random());
  std::string wrong_operation = request;
  wrong_operation[12] = 77;
  const std::vector<std::string> garbage = {
      "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
      random_bytes,
      "",                                             // says nothing
      greeting.substr(0, 7),                          // and then nothing
      greeting + std::string("\xff\xff\xff\x7f", 4),  // a frame of 2 GiB
      greeting + std::string(4, '\0'),                // an empty frame
      greeting + std::string("\x02\0\0\0hi", 6),      // a frame that is no request
      greeting + wrong_operation,
      greeting + request + random_bytes,
  };
  for (std::size_t i = 0; i < garbage.size(); ++i) {
    RawClient client(server->port());
    ASSERT_TRUE(client.connected());
    client.send(garbage[i]);
    const auto answer = client.receive_all();
    ASSERT_TRUE(answer) << "kind " << i << " was not refused";
    const bool greeted = garbage[i].starts_with(greeting);
    EXPECT_LE(answer->size(), greeted ? store::wire::greeting_bytes : 0) << "kind " << i;
  }
  EXPECT_TRUE(store_server_connect("127.0.0.1", server->port())->set("key", "unharmed", generous()).ok());
  waiter.join();
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(*got, "unharmed");
  EXPECT_EQ(occurrences(log, "refused a connection from 127.0.0.1"), 1u) << log;
  EXPECT_THAT(log, HasSubstr("GET / HTTP/1.1"));
}

TEST(StoreServer, OtherVersionsAndAuthenticationsAreRefusedInWords) {
  testing::internal::CaptureStderr();
  const auto server = serve();
  const auto answer_to = [&](const store::wire::Greeting& greeting) {
    RawClient client(server->port());
    client.send(store::wire::encode_greeting(store::wire::client_magic, greeting));
    return client.receive_all().value_or("");
  };
  for (const auto& [answer, verdict] :
       {std::pair(answer_to({.version = store::wire::version + 1}), store::wire::Verdict::other_version),
        std::pair(answer_to({.word = 7, .text = "secret"}), store::wire::Verdict::refused)}) {
    const auto greeting = store::wire::parse_greeting(answer, store::wire::server_magic);
    ASSERT_TRUE(greeting.ok() && *greeting) << answer.size();
    EXPECT_EQ((*greeting)->word, static_cast<std::uint16_t>(verdict));
    EXPECT_FALSE((*greeting)->text.empty());
  }
  EXPECT_EQ(server->clients(), 0u);
  (void)testing::internal::GetCapturedStderr();
}

TEST(StoreServer, RequestsMayArriveByteByByte) {
  const auto server = serve();
  RawClient client(server->port());
  const std::string bytes = store::wire::encode_greeting(store::wire::client_magic, {}) +
                            wire::encode_request({.id = 5, .operation = wire::Operation::add, .key = "n", .delta = 3});
  for (const char byte : bytes) client.send({&byte, 1});
  EXPECT_EQ(client.receive(store::wire::greeting_bytes).substr(0, 8), store::wire::server_magic);
  EXPECT_EQ(client.receive(13 + 8), store::wire::encode_response_head(5, Code::ok, 8) + store::wire::encode_sum(3));
}

// It asks for far more than anyone should keep for it. The server answers others meanwhile, and it too once it reads.
TEST(StoreServer, AClientThatDoesNotReadHarmsNobody) {
  const auto server = serve();
  const auto store = store_server_connect("127.0.0.1", server->port());
  ASSERT_TRUE(store->set("large", std::string(store_value_bytes_max, 'x'), generous()).ok());
  RawClient greedy(server->port());
  greedy.greet();
  constexpr std::uint64_t requests = 200;
  for (std::uint64_t id = 0; id < requests; ++id) {
    greedy.send(wire::encode_request({.id = id, .operation = wire::Operation::peek, .key = "large"}));
  }
  for (int round = 0; round < 100; ++round) EXPECT_TRUE(store->add("n", 1, generous()).ok());
  for (std::uint64_t id = 0; id < requests; ++id) {
    const std::string head = store::wire::encode_response_head(id, Code::ok, store_value_bytes_max);
    ASSERT_EQ(greedy.receive(head.size() + store_value_bytes_max).substr(0, head.size()), head) << id;
  }
}

TEST(StoreServer, WaitingClientsAreManyAndMayVanish) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit before = limit;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 8192);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  const std::size_t waiters = std::min<std::size_t>(2000, (limit.rlim_cur - 200) / 2);
  {
    const auto server = serve();
    std::vector<std::unique_ptr<RawClient>> clients;
    for (std::size_t i = 0; i < waiters; ++i) {
      clients.push_back(std::make_unique<RawClient>(server->port()));
      ASSERT_TRUE(clients.back()->connected()) << i;
      clients.back()->greet();
      clients.back()->send(wire::encode_request({.id = i, .operation = wire::Operation::get, .key = "go"}));
    }
    EXPECT_EQ(server->clients(), waiters);
    for (std::size_t i = 0; i < waiters; i += 2) clients[i].reset();
    const auto store = store_server_connect("127.0.0.1", server->port());
    ASSERT_TRUE(store->set("go", "now", generous()).ok());
    for (std::size_t i = 1; i < waiters; i += 2) {
      const std::string expected = store::wire::encode_response_head(i, Code::ok, 3) + "now";
      ASSERT_EQ(clients[i]->receive(expected.size()), expected) << i;
    }
    clients.clear();
    EXPECT_TRUE(store->set("still", "here", generous()).ok());
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace hocket
