#include "src/store/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/store/store_server.hpp"
#include "src/store/tcp_store.hpp"
#include "tests/support/generous.hpp"
#include "tests/unit/store/raw_client.hpp"

namespace hocket {
namespace {

using store::RawClient;
using testing::HasSubstr;
using testing::StartsWith;

std::string ask(std::uint16_t port, const std::string& request) {
  RawClient client(port);
  client.send(request);
  return client.receive_all().value_or("no answer");
}

struct MetricsOfAServer : testing::Test {
  void SetUp() override {
    auto started = StoreServer::start("127.0.0.1", 0, {.metrics_port = 0});
    ASSERT_TRUE(started.ok()) << started.status().message();
    server = std::move(*started);
  }
  std::unique_ptr<StoreServer> server;
};

TEST_F(MetricsOfAServer, CountWhatItHoldsAndDid) {
  const auto store = TcpStore::connect("127.0.0.1", server->port(), generous());
  ASSERT_TRUE(store.ok()) << store.status().message();
  ASSERT_TRUE((*store)->set("key", "value", generous()).ok());
  const std::string answer = ask(server->metrics_port(), "GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  for (const char* line : {"hocket_store_clients 1\n", "hocket_store_keys 1\n", "hocket_store_requests_total 1\n",
                           "hocket_store_connections_total 1\n", "# TYPE hocket_store_requests_total counter\n"}) {
    EXPECT_THAT(answer, HasSubstr(line));
  }
}

TEST_F(MetricsOfAServer, AreNotTheOnlyPage) {
  EXPECT_THAT(ask(server->metrics_port(), "GET /health HTTP/1.0\r\n\r\n"), testing::EndsWith("\r\n\r\nok\n"));
  EXPECT_THAT(ask(server->metrics_port(), "GET /other HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(ask(server->metrics_port(), "POST /health HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(ask(server->metrics_port(), std::string(8193, 'x')), StartsWith("HTTP/1.1 431"));
}

// The page is as free of harm as the store: strangers who say nothing take a few connections, for a while.
TEST_F(MetricsOfAServer, AreThereBesideThoseWhoSayNothing) {
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 40; ++i) silent.push_back(std::make_unique<RawClient>(server->metrics_port()));
  EXPECT_THAT(ask(server->metrics_port(), "GET /health HTTP/1.0\r\n\r\n"), HasSubstr("200 OK"));
}

TEST(HttpAnswer, WaitsForTheWholeHead) {
  const std::string whole = "GET /health HTTP/1.1\r\nHost: here\r\n\r\n";
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_EQ(store::http_answer(whole.substr(0, bytes), {}), "") << bytes;
  }
  EXPECT_NE(store::http_answer(whole, {}), "");
  for (const char* odd : {"GET\r\n\r\n", "GET \r\n\r\n", "\r\n\r\n", "GET  \r\n\r\n"}) {
    EXPECT_THAT(store::http_answer(odd, {}), StartsWith("HTTP/1.1 4")) << odd;
  }
}

}  // namespace
}  // namespace hocket
