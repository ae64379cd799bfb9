// Whose process is at the other end of a connection.
#include "src/base/socket_owner.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/fd.hpp"

namespace hocket {
namespace {

// A connection of this process with itself, over IPv4 or over an IPv6 socket that takes IPv4 too.
struct Connection {
  explicit Connection(int family) {
    const UniqueFd listener(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto* any = family == AF_INET ? reinterpret_cast<const sockaddr*>(&v4) : reinterpret_cast<sockaddr*>(&v6);
    EXPECT_EQ(::bind(listener.get(), any, family == AF_INET ? sizeof v4 : sizeof v6), 0);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    sockaddr_in6 bound{};
    socklen_t bytes = sizeof bound;
    ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound), &bytes);
    v4.sin_port = bound.sin6_port;  // at the same place in both
    dialled = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(dialled.get(), reinterpret_cast<const sockaddr*>(&v4), sizeof v4), 0);
    accepted = UniqueFd(::accept(listener.get(), nullptr, nullptr));
  }
  UniqueFd dialled, accepted;
};

TEST(SocketOwner, IsThisUserForAConnectionWithItself) {
  for (const int family : {AF_INET, AF_INET6}) {
    const Connection connection(family);
    EXPECT_EQ(owner_of_peer(connection.dialled.get()), PeerOwner::own);
    EXPECT_EQ(owner_of_peer(connection.accepted.get()), PeerOwner::own);
  }
}

// The kernel says that root has it, or that it is not there.
TEST(SocketOwner, IsNobodyOnceTheSocketIsClosed) {
  Connection connection(AF_INET);
  connection.dialled.reset();
  EXPECT_NE(owner_of_peer(connection.accepted.get()), PeerOwner::own);
}

TEST(SocketOwner, IsUnknownWhereNoDescriptorIsLeftToAskWith) {
  const Connection connection(AF_INET);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const PeerOwner owner = owner_of_peer(connection.accepted.get());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(owner, PeerOwner::unknown);
}

// Its host had the other end while there was one: that is not another host now.
TEST(SocketOwner, IsNobodyWhereThereIsNoConnection) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(owner_of_peer(socket.get()), PeerOwner::another_user);
  EXPECT_EQ(owner_of_peer(-1), PeerOwner::another_host);
}

}  // namespace
}  // namespace hocket
