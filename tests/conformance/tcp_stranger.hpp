// Somebody at a rank's TCP port who is no transport of the group.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "src/base/fd.hpp"
#include "src/spi/transport.hpp"
#include "transports/registry.hpp"
#include "transports/tcp/endpoint.hpp"
#include "transports/tcp/wire.hpp"

namespace hocket::testing_support {

inline constexpr std::uint64_t ranks_group = 77;  // what Ranks uses

// A client that is none of the group's transports, with blocking calls.
class Stranger {
 public:
  explicit Stranger(const Address& address) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{60, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const int yes = 1;  // a reset discards what has not gone out
    ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(tcp::parse_reachability(address)->port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  template <class Bytes>
  void say(const Bytes& bytes) {
    EXPECT_EQ(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  // Whether the other side has ended the connection without a word, while `ranks` progress.
  template <class Ranks>
  bool refused(Ranks& ranks) {
    char byte;
    return ranks.until([&] {
      const ssize_t got = ::recv(fd_.get(), &byte, 1, MSG_DONTWAIT);
      EXPECT_LE(got, 0);
      return got == 0 || (got < 0 && errno == ECONNRESET);
    });
  }
  // The same, whatever the other side has said before.
  template <class Ranks>
  bool shown_out(Ranks& ranks) {
    char bytes[256];
    return ranks.until([&] {
      const ssize_t got = ::recv(fd_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
      return got == 0 || (got < 0 && errno == ECONNRESET);
    });
  }
  template <class Ranks>
  tcp::HelloFrame hear(Ranks& ranks) {
    tcp::HelloFrame frame{};
    std::size_t have = 0;
    EXPECT_TRUE(ranks.until([&] {
      const ssize_t got = ::recv(fd_.get(), frame.data() + have, frame.size() - have, MSG_DONTWAIT);
      if (got > 0) have += static_cast<std::size_t>(got);
      return have == frame.size();
    }));
    return frame;
  }
  template <class Ranks>
  std::string hear_bytes(Ranks& ranks, std::size_t bytes) {
    std::string heard(bytes, '\0');
    std::size_t have = 0;
    EXPECT_TRUE(ranks.until([&] {
      const ssize_t got = ::recv(fd_.get(), heard.data() + have, bytes - have, MSG_DONTWAIT);
      if (got > 0) have += static_cast<std::size_t>(got);
      return have == bytes;
    }));
    return heard;
  }
  void hear_a_byte() {
    char byte;
    EXPECT_EQ(::recv(fd_.get(), &byte, 1, 0), 1);
  }
  void reset() {
    const linger at_once{1, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    fd_.reset();
  }
  void leave() { fd_.reset(); }
  UniqueFd take() { return std::move(fd_); }

 private:
  UniqueFd fd_;
};

inline tcp::HelloFrame hello(Rank from, Rank to, std::uint64_t of_group = ranks_group, tcp::StreamNumber stream = {}) {
  return tcp::encode(tcp::Hello{tcp::HelloKind::hello, of_group, from, to, stream});
}

}  // namespace hocket::testing_support
