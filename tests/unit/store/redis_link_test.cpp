#include "src/store/redis_link.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "tests/unit/store/raw_client.hpp"

namespace hocket::store {
namespace {

// Something takes the connection and says nothing: who ends does not wait for its deadline.
TEST(RedisLink, AnAnswerIsWaitedForNoLongerThanWanted) {
  RawListener silent;
  silent.listen();
  RedisLink link({.host = "127.0.0.1", .port = silent.port()});
  std::stop_source stop;
  const std::jthread accepts([&] {
    RawClient connection = silent.accept();
    char byte;
    EXPECT_EQ(::recv(connection.fd(), &byte, 1, 0), 1);  // the first of the command: connecting is over
    stop.request_stop();
    while (::recv(connection.fd(), &byte, 1, 0) > 0) {
    }
  });
  const auto reply = link.command({"PING"}, Deadline::after(std::chrono::seconds(60)), stop.get_token());
  EXPECT_EQ(reply.status().code(), Code::aborted) << reply.status().message();
}

}  // namespace
}  // namespace hocket::store
