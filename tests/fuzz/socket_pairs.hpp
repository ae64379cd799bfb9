// Connected sockets for targets whose parsers read from one, and what a channel of shared memory writes to it.
#pragma once

#include <sys/socket.h>

#include <string>

#include "src/base/bytes.hpp"
#include "src/base/fd.hpp"
#include "tests/fuzz/target.hpp"
#include "transports/shm/channel.hpp"

namespace hocket::fuzz {

struct Ends {
  UniqueFd ours, theirs;
};

inline Ends open_pair(int type) {
  int fds[2];
  require(::socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// A packet as a channel writes it, behind its length.
inline std::string sent(const shm::Packet& packet) {
  Ends ends = open_pair(SOCK_SEQPACKET);
  shm::Channel(std::move(ends.ours)).send(packet);
  std::string bytes(8192, '\0');
  const ssize_t got = ::recv(ends.theirs.get(), bytes.data(), bytes.size(), 0);
  require(got > 0);
  bytes.resize(static_cast<std::size_t>(got));
  std::string counted;
  append(counted, static_cast<std::uint16_t>(bytes.size()));
  return counted + bytes;
}

}  // namespace hocket::fuzz
