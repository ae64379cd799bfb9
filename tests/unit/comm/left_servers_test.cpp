#include "src/comm/left_servers.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "src/store/dial.hpp"
#include "src/store/tcp_store.hpp"

namespace hocket::comm {
namespace {

using namespace std::chrono_literals;

Deadline in_a_minute() {
  return Deadline::after(60s);
}

struct Left {
  std::unique_ptr<TcpStore> reader;
  std::uint16_t port;
};

// A server with one reader, which is left for that and one more.
Left leave(const std::string& point) {
  auto server = StoreServer::start("127.0.0.1", 0).value();
  const std::uint16_t port = server->port();
  auto reader = TcpStore::connect("127.0.0.1", port, in_a_minute()).value();
  leave_server(point, std::move(server), 2, in_a_minute());
  return {std::move(reader), port};
}

bool ends(std::uint16_t port) {
  for (const Deadline deadline = in_a_minute(); !deadline.passed();) {
    if (store::is_refused("127.0.0.1", port, deadline)) return true;
  }
  return false;
}

TEST(LeftServer, ServesUntilAllHaveReadAndGone) {
  Left left = leave("here");
  EXPECT_TRUE(left.reader->set("key", "why", in_a_minute()).ok());
  left.reader.reset();
  auto late = TcpStore::connect("127.0.0.1", left.port, in_a_minute()).value();
  EXPECT_EQ(late->get("key", in_a_minute()).value(), "why");
  EXPECT_FALSE(late->is_refused(in_a_minute()));
  late.reset();
  EXPECT_TRUE(ends(left.port));
}

TEST(LeftServer, EndsWhereRank0ServesThereAgain) {
  const Left here = leave("here"), there = leave("there");
  end_left_servers("here");
  EXPECT_TRUE(here.reader->is_refused(in_a_minute()));
  EXPECT_FALSE(there.reader->is_refused(in_a_minute()));
  end_left_servers("there");
  EXPECT_TRUE(there.reader->is_refused(in_a_minute()));
}

}  // namespace
}  // namespace hocket::comm
