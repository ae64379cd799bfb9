// Newcomers that say nothing: they must not make a rank ask the kernel at each step of its own work.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "src/base/random.hpp"
#include "transports/shm/connector.hpp"
#include "transports/tcp/connector.hpp"
#include "transports/tcp/interfaces.hpp"
#include "transports/tcp/sockets.hpp"

namespace hocket {
namespace {

constexpr int strangers = 60;

struct Nobody final : TransportListener {
  void peer_failed(Rank, const Status&) override {}
  void peer_left(Rank) override {}
};

void await(int fd, short events) {
  pollfd ready{fd, events, 0};
  ASSERT_EQ(::poll(&ready, 1, 60'000), 1);
}

TEST(Strangers, WhoAreSilentAreNoWorkUnderWayOverTcp) {
  Nobody nobody;
  const TransportConfig config{.rank = 0, .size = 2, .group = 5, .listener = &nobody};
  const tcp::Settings settings;
  tcp::LinkContext context{0, &nobody, std::vector<std::byte>(1000)};
  auto listening = std::move(tcp::listen_anywhere()).value();
  const int door = listening.fds.front().get();
  tcp::Connector connector(config, settings, context, std::move(listening.fds));
  const tcp::Endpoint endpoint =
      tcp::LocalHost(1, tcp::Family::any, {}).candidates({.host = 1, .port = listening.port, .ips = {}})[0];
  std::vector<UniqueFd> silent;
  for (int i = 0; i < strangers; ++i) {
    silent.push_back(std::move(tcp::start_connecting(endpoint)).value());
    await(door, POLLIN);
    connector.accept();
  }
  EXPECT_EQ(connector.step(), 0u);
  EXPECT_FALSE(connector.unsettled());
  EXPECT_TRUE(connector.next_deadline().has_value()) << "they are shown out";
  // One of them is a rank.
  const tcp::HelloFrame hello = tcp::encode(tcp::Hello{tcp::HelloKind::hello, 5, 1, 0, {0, 1}});
  ASSERT_EQ(::send(silent.back().get(), hello.data(), hello.size(), 0), static_cast<ssize_t>(hello.size()));
  for (const Deadline until = Deadline::after(std::chrono::seconds(60)); !connector.connected(1) && !until.passed();) {
    connector.step();
  }
  EXPECT_TRUE(connector.connected(1));
}

TEST(Strangers, WhoAreSilentAreNoWorkUnderWayOverSharedMemory) {
  Nobody nobody;
  const std::uint64_t group = random_number();
  const TransportConfig config{.rank = 0, .size = 2, .group = group, .listener = &nobody};
  const shm::LinkContext context{0, ::getpid(), &nobody, nullptr};
  const UniqueFd wake_event(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  auto listener = std::move(shm::listen_as(group, 0)).value();
  const int door = listener.get();
  shm::Connector connector(config, context, std::move(listener), wake_event.get());
  sockaddr_storage address{};
  socklen_t bytes = sizeof address;
  ASSERT_EQ(::getsockname(door, reinterpret_cast<sockaddr*>(&address), &bytes), 0);
  std::vector<UniqueFd> silent;
  for (int i = 0; i < strangers; ++i) {
    silent.emplace_back(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(silent.back().get(), reinterpret_cast<const sockaddr*>(&address), bytes), 0);
    connector.accept();
  }
  EXPECT_EQ(connector.step(), 0u);
  EXPECT_FALSE(connector.unsettled());
  EXPECT_TRUE(connector.next_deadline().has_value()) << "they are shown out";
}

}  // namespace
}  // namespace hocket
