#include "transports/tcp/sockets.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <cerrno>
#include <string>

#include "transports/tcp/interfaces.hpp"

namespace hocket::tcp {
namespace {

int option(int fd, int level, int name) {
  int value = -1;
  socklen_t bytes = sizeof value;
  EXPECT_EQ(::getsockopt(fd, level, name, &value, &bytes), 0);
  return value;
}

Endpoint loopback(std::uint16_t port) {
  return LocalHost(1, Family::any, {}).candidates(Reachability{.host = 1, .port = port, .ips = {}})[0];
}

void await(int fd, short events) {
  pollfd ready{fd, events, 0};
  EXPECT_EQ(::poll(&ready, 1, 60'000), 1);
}

TEST(Sockets, BothEndsAreTuned) {
  auto listening = listen_anywhere();
  ASSERT_TRUE(listening.ok());
  EXPECT_GT(listening->port, 0);
  EXPECT_EQ(accept_from(listening->fds.front().get()).error, EAGAIN);
  auto dialled = start_connecting(loopback(listening->port));
  ASSERT_TRUE(dialled.ok());
  await(dialled->get(), POLLOUT);
  EXPECT_EQ(connect_error(dialled->get()), 0);
  await(listening->fds.front().get(), POLLIN);
  Accepted accepted = accept_from(listening->fds.front().get());
  ASSERT_TRUE(accepted.fd);
  EXPECT_EQ(accepted.from.ip_text(), "127.0.0.1");
  tune(accepted.fd.get());
  for (const int fd : {dialled->get(), accepted.fd.get()}) {
    EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_EQ(option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_EQ(option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);  // or a late rank would count as dead
    EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_NE(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    char name[16] = {};
    socklen_t bytes = sizeof name;
    ASSERT_EQ(::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &bytes), 0);
    EXPECT_TRUE(std::string(name) == "cubic" || std::string(name) == "reno") << name;
  }
}

// A list of addresses is narrower than everywhere: others of this host refuse.
TEST(Sockets, ListenWhereTheyAreToldAlone) {
  const Endpoint first = loopback(0);
  Endpoint second = first, other = first;
  second.ip.s6_addr[15] = 2;  // 127.0.0.2
  other.ip.s6_addr[15] = 3;
  const Endpoint endpoints[] = {first, second};
  auto listening = listen_on(endpoints);
  ASSERT_TRUE(listening.ok()) << listening.status().message();
  ASSERT_EQ(listening->fds.size(), 2u);
  const auto answer_of = [&](Endpoint endpoint) {
    endpoint.port = listening->port;
    auto dialled = start_connecting(endpoint);
    if (!dialled.ok()) return ECONNREFUSED;
    await(dialled->get(), POLLOUT);
    return connect_error(dialled->get());
  };
  EXPECT_EQ(answer_of(first), 0);
  EXPECT_EQ(answer_of(second), 0);
  EXPECT_EQ(answer_of(other), ECONNREFUSED);
}

TEST(Sockets, ListenOnTheirPortsAlone) {
  auto any = listen_anywhere();
  ASSERT_TRUE(any.ok());
  Settings settings;
  settings.ports = {any->port, any->port};
  const auto taken = listen_anywhere(settings);
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.status().code(), Code::out_of_resources);
  EXPECT_NE(taken.status().message().find("HOCKET_TCP_PORTS"), std::string::npos);
  any->fds.clear();
  const auto given = listen_anywhere(settings);
  ASSERT_TRUE(given.ok()) << given.status().message();
  EXPECT_EQ(given->port, settings.ports.first);
}

TEST(Sockets, ARefusalIsSeen) {
  std::uint16_t port = 0;
  {
    auto listening = listen_anywhere();
    ASSERT_TRUE(listening.ok());
    port = listening->port;
  }
  auto dialled = start_connecting(loopback(port));
  if (!dialled) {
    EXPECT_EQ(dialled.status().code(), Code::peer_lost);
    return;
  }
  await(dialled->get(), POLLOUT);
  EXPECT_EQ(connect_error(dialled->get()), ECONNREFUSED);
}

}  // namespace
}  // namespace hocket::tcp
