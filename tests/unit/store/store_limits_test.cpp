// What strangers, and clients without measure, can take of the store's server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>

#include <thread>

#include "src/store/store_server.hpp"
#include "src/store/tcp_store.hpp"
#include "tests/support/generous.hpp"
#include "tests/unit/store/raw_client.hpp"

namespace hocket {
namespace {

using store::RawClient;
namespace wire = store::wire;
using testing::HasSubstr;

std::unique_ptr<StoreServer> serve_within(const store::ServerLimits& limits) {
  auto server = StoreServer::start("127.0.0.1", 0, {.limits = limits});
  EXPECT_TRUE(server.ok()) << server.status().message();
  return server.ok() ? std::move(*server) : nullptr;
}

Result<std::unique_ptr<TcpStore>> connect(const StoreServer& server, Deadline deadline = generous()) {
  return TcpStore::connect("127.0.0.1", server.port(), deadline);
}

TEST(StoreLimits, ValuesBeyondTheQuotaAreRefused) {
  const auto server = serve_within({});
  const auto store = connect(*server);
  ASSERT_TRUE(store.ok()) << store.status().message();
  const std::string value(store_value_bytes_max, 'v');
  Status status;
  int kept = 0;
  for (; kept < 3001 && status.ok(); ++kept) status = (*store)->set(std::to_string(kept), value, generous());
  EXPECT_EQ(status.code(), Code::out_of_resources);
  EXPECT_LE(kept, 257);
  EXPECT_THAT(status.message(), HasSubstr("--max-bytes"));
  // Neither do other changes pass it, and what is removed makes room.
  EXPECT_EQ((*store)->compare_and_set("new", std::nullopt, value, generous()).status().code(), Code::out_of_resources);
  EXPECT_EQ((*store)->claim("new", std::nullopt, value, {}, generous()).status().code(), Code::out_of_resources);
  EXPECT_TRUE((*store)->set("0", std::string(store_value_bytes_max, 'w'), generous()).ok());
  EXPECT_TRUE((*store)->remove("0", generous()).value());
  EXPECT_TRUE((*store)->set("new", value, generous()).ok());
}

TEST(StoreLimits, KeysBeyondTheQuotaAreRefused) {
  const auto server = serve_within({.dictionary = {.keys = 3}});
  const auto store = connect(*server);
  ASSERT_TRUE(store.ok()) << store.status().message();
  for (int key = 0; key < 3; ++key) EXPECT_EQ((*store)->add(std::to_string(key), 1, generous()).value(), 1);
  EXPECT_EQ((*store)->add("3", 1, generous()).status().code(), Code::out_of_resources);
  EXPECT_EQ((*store)->add("2", 1, generous()).value(), 2);
}

TEST(StoreLimits, WaitsBeyondTheQuotaAreRefused) {
  const auto server = serve_within({.waiting_bytes = 10'000});
  RawClient client(server->port());
  client.greet();
  for (std::uint64_t id = 1; id <= 100; ++id) {
    client.send(wire::encode_request({.id = id, .operation = wire::Operation::get, .key = "never"}));
  }
  const std::string head = client.receive(store::wire::frame_head_bytes + 9);
  EXPECT_EQ(static_cast<Code>(head.back()), Code::out_of_resources);
  const auto store = connect(*server);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_TRUE((*store)->set("key", "value", generous()).ok());
}

// Three clients that each send half of a large request, and then nothing.
TEST(StoreLimits, RequestsThatNeverEndTakeBoundedMemory) {
  testing::internal::CaptureStderr();
  const auto server = serve_within({.input_bytes = std::size_t{2} << 20});
  const std::string value(store_value_bytes_max, 'v');
  const std::string request =
      wire::encode_request({.id = 1, .operation = wire::Operation::set, .key = "k", .value = value});
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<RawClient>(server->port()));
    clients.back()->greet();
    clients.back()->send(std::string_view(request).substr(0, request.size() - 1));
  }
  // Closed is the one whose bytes the server has read last.
  pollfd ends[3] = {{clients[0]->fd(), POLLIN, 0}, {clients[1]->fd(), POLLIN, 0}, {clients[2]->fd(), POLLIN, 0}};
  ASSERT_GT(::poll(ends, 3, 60'000), 0);
  const auto closed = std::ranges::find_if(ends, [](const pollfd& end) { return end.revents != 0; }) - ends;
  EXPECT_EQ(clients[closed]->receive_all(), "");
  RawClient& other = *clients[closed == 0 ? 1 : 0];
  other.send(request.substr(request.size() - 1));
  EXPECT_EQ(other.receive(13), store::wire::encode_response_head(1, Code::ok, 0));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("too many large requests"));
}

// ---- clients

TEST(StoreLimits, ThoseWhoNeverGreetMakeRoomFirst) {
  testing::internal::CaptureStderr();
  const auto server = serve_within({.clients = 4});
  const auto first = connect(*server);
  ASSERT_TRUE(first.ok()) << first.status().message();
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(std::make_unique<RawClient>(server->port()));
  const auto second = connect(*server);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_TRUE((*first)->set("key", "value", generous()).ok());
  EXPECT_EQ((*second)->get("key", generous()).value(), "value");
  (void)testing::internal::GetCapturedStderr();
}

TEST(StoreLimits, ThoseWhoAskForNothingMakeRoom) {
  testing::internal::CaptureStderr();
  const auto server = serve_within({.clients = 4});
  const auto owner = connect(*server), waiter = connect(*server);
  ASSERT_TRUE(owner.ok() && waiter.ok());
  ASSERT_TRUE((*owner)->claim("owned", std::nullopt, "", {}, generous()).ok());
  Result<std::string> waited = Status(Code::internal, "not yet");
  std::thread waits([&] { waited = (*waiter)->get("key", generous()); });
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 20; ++i) {
    idle.push_back(std::make_unique<RawClient>(server->port()));
    idle.back()->greet();
  }
  const auto late = connect(*server);  // once they have idled for long enough
  EXPECT_TRUE(late.ok() && (*late)->set("key", "value", generous()).ok());
  waits.join();
  EXPECT_EQ(waited.ok() ? *waited : waited.status().message(), "value");
  EXPECT_TRUE((*owner)->peek("owned", generous()).value().has_value());
  (void)testing::internal::GetCapturedStderr();
}

TEST(StoreLimits, WhereAllAreNeededTheNextIsToldSo) {
  testing::internal::CaptureStderr();
  const auto server = serve_within({.clients = 2});
  const auto one = connect(*server), two = connect(*server);
  ASSERT_TRUE(one.ok() && two.ok());
  ASSERT_TRUE((*one)->claim("1", std::nullopt, "", {}, generous()).ok());
  ASSERT_TRUE((*two)->claim("2", std::nullopt, "", {}, generous()).ok());
  const auto refused = connect(*server, Deadline::after(std::chrono::milliseconds(1500)));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::store_unreachable);
  EXPECT_THAT(refused.status().message(), HasSubstr("it serves 2 clients"));
  EXPECT_THAT(refused.status().message(), HasSubstr("--max-clients"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("others have to wait"));
}

}  // namespace
}  // namespace hocket
