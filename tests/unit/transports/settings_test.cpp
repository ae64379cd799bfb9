#include "transports/tcp/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstdlib>
#include <map>
#include <string>

#include "transports/tcp/sockets.hpp"

namespace hocket::tcp {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The settings under these variables alone.
Result<Settings> under(const std::map<std::string, std::string>& variables) {
  constexpr const char* ours[] = {"HOCKET_TCP_STREAMS", "HOCKET_TCP_CONGESTION", "HOCKET_TCP_PORTS",
                                  "HOCKET_TCP_SEND_BUFFER", "HOCKET_TCP_RECEIVE_BUFFER"};
  for (const char* name : ours) ::unsetenv(name);
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  auto settings = Settings::from_environment();
  for (const char* name : ours) ::unsetenv(name);
  return settings;
}

std::string congestion_of(int fd) {
  char name[16] = {};
  socklen_t bytes = sizeof name;
  EXPECT_EQ(::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &bytes), 0);
  return name;
}

int buffer_of(int fd, int which) {
  int value = 0;
  socklen_t bytes = sizeof value;
  EXPECT_EQ(::getsockopt(fd, SOL_SOCKET, which, &value, &bytes), 0);
  return value;
}

TEST(TcpSettings, HaveDefaults) {
  for (const auto& variables :
       {std::map<std::string, std::string>{}, {{"HOCKET_TCP_STREAMS", "auto"}, {"HOCKET_TCP_CONGESTION", "auto"}}}) {
    const auto settings = under(variables);
    ASSERT_TRUE(settings.ok());
    EXPECT_EQ(settings->streams, 1);
    EXPECT_EQ(settings->congestion, (std::vector<std::string>{"cubic", "reno"}));
    EXPECT_EQ(settings->send_buffer_bytes, 1 << 20);
    EXPECT_EQ(settings->receive_buffer_bytes, 1 << 20);
  }
}

TEST(TcpSettings, ReachTheSockets) {
  const auto chosen = under({{"HOCKET_TCP_STREAMS", "3"},
                             {"HOCKET_TCP_CONGESTION", "reno"},
                             {"HOCKET_TCP_SEND_BUFFER", "64K"},
                             {"HOCKET_TCP_RECEIVE_BUFFER", "32K"}});
  ASSERT_TRUE(chosen.ok()) << chosen.status().message();
  EXPECT_EQ(chosen->streams, 3);
  const auto listening = listen_anywhere(*chosen);
  ASSERT_TRUE(listening.ok());
  tune(listening->fds.front().get(), *chosen);
  EXPECT_EQ(congestion_of(listening->fds.front().get()), "reno");
  EXPECT_EQ(buffer_of(listening->fds.front().get(), SO_SNDBUF), 2 * 64 << 10);  // the kernel doubles what is asked for
  EXPECT_EQ(buffer_of(listening->fds.front().get(), SO_RCVBUF), 2 * 32 << 10);
}

TEST(TcpSettings, CanLeaveAllToTheSystem) {
  const auto system =
      under({{"HOCKET_TCP_CONGESTION", "system"}, {"HOCKET_TCP_SEND_BUFFER", "0"}, {"HOCKET_TCP_RECEIVE_BUFFER", "0"}});
  ASSERT_TRUE(system.ok()) << system.status().message();
  const UniqueFd untouched(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!untouched) GTEST_SKIP() << "this host has no IPv6";
  const auto listening = listen_anywhere(*system);
  ASSERT_TRUE(listening.ok());
  tune(listening->fds.front().get(), *system);
  EXPECT_EQ(congestion_of(listening->fds.front().get()), congestion_of(untouched.get()));
  EXPECT_EQ(buffer_of(listening->fds.front().get(), SO_SNDBUF), buffer_of(untouched.get(), SO_SNDBUF));
  EXPECT_EQ(buffer_of(listening->fds.front().get(), SO_RCVBUF), buffer_of(untouched.get(), SO_RCVBUF));
}

TEST(TcpSettings, RefuseWhatCannotBe) {
  const std::pair<const char*, const char*> wrong[] = {
      {"HOCKET_TCP_STREAMS", "0"},          {"HOCKET_TCP_STREAMS", "17"},     {"HOCKET_TCP_STREAMS", "many"},
      {"HOCKET_TCP_CONGESTION", "carrier"}, {"HOCKET_TCP_SEND_BUFFER", "-1"}, {"HOCKET_TCP_SEND_BUFFER", "2G"},
      {"HOCKET_TCP_RECEIVE_BUFFER", "1X"}};
  for (const auto& [name, value] : wrong) {
    const auto settings = under({{name, value}});
    ASSERT_FALSE(settings.ok()) << name << "=" << value;
    EXPECT_EQ(settings.status().code(), Code::invalid_environment);
    EXPECT_THAT(settings.status().message(),
                AllOf(HasSubstr(name), HasSubstr("\"" + std::string(value) + "\""), HasSubstr("set it to")));
  }
}

TEST(TcpSettings, PortsAreOneOrARange) {
  const auto range = under({{"HOCKET_TCP_PORTS", "20000-20099"}}), one = under({{"HOCKET_TCP_PORTS", "20000"}});
  ASSERT_TRUE(range.ok() && one.ok());
  EXPECT_EQ(range->ports.first, 20000);
  EXPECT_EQ(range->ports.last, 20099);
  EXPECT_EQ(one->ports.last, 20000);
  for (const char* wrong : {"0", "20099-20000", "20000-", "-1", "any", "1-65536"}) {
    const auto refused = under({{"HOCKET_TCP_PORTS", wrong}});
    EXPECT_EQ(refused.status().code(), Code::invalid_environment) << wrong;
  }
}

}  // namespace
}  // namespace hocket::tcp
