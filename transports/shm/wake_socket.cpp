#include "transports/shm/wake_socket.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

namespace hocket::shm {
namespace {

constexpr std::size_t name_bytes = 6;  // a zero and five digits, see unix(7) about autobind

}  // namespace

Result<WakeSocket> WakeSocket::open() {
  const auto no_socket = [] {
    return Status(Code::out_of_resources,
                  fmt::format("cannot open a Unix socket to be woken at: {}", std::strerror(errno)));
  };
  WakeSocket made;
  made.fd_ = UniqueFd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!made.fd_ || ::bind(made.fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(sa_family_t)) != 0) {
    return no_socket();
  }
  socklen_t bytes = sizeof address;
  if (::getsockname(made.fd_.get(), reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return no_socket();
  std::memcpy(&made.name_, address.sun_path, name_bytes);
  return made;
}

// Fails only where as much waits there as the socket takes, or where nobody is left.
void WakeSocket::wake(std::uint64_t name) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, &name, name_bytes);
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_bytes);
  const char word = 0;
  (void)::sendto(fd_.get(), &word, sizeof word, MSG_DONTWAIT | MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&address), bytes);
}

void WakeSocket::clear() const {
  char word;
  while (::recv(fd_.get(), &word, sizeof word, MSG_DONTWAIT) >= 0) continue;
}

}  // namespace hocket::shm
