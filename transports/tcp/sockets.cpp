#include "transports/tcp/sockets.hpp"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>

#include "src/base/file_contents.hpp"
#include "src/base/fork.hpp"
#include "src/base/log.hpp"
#include "src/base/words.hpp"

namespace hocket::tcp {
namespace {

// A host that stops answering is noticed after idle + probes * interval by everyone who waits to receive from it.
// TCP_USER_TIMEOUT is left alone on purpose: Linux also applies it to a healthy peer that merely does not read for so
// long (a zero window whose probes are answered), as a rank does that comes late to a collective.
constexpr int keepalive_idle_seconds = 15;
constexpr int keepalive_interval_seconds = 5;
constexpr int keepalive_probes = 9;

template <class T>
bool set(int fd, int level, int option, const T& value) {
  return ::setsockopt(fd, level, option, &value, sizeof value) == 0;
}

// Buffer sizes take part in the handshake's window scaling, so they are set before connect and listen.
void set_buffers(int fd, const Settings& settings) {
  if (settings.send_buffer_bytes > 0) set(fd, SOL_SOCKET, SO_SNDBUF, settings.send_buffer_bytes);
  if (settings.receive_buffer_bytes > 0) set(fd, SOL_SOCKET, SO_RCVBUF, settings.receive_buffer_bytes);
}

bool set_congestion(int fd, const std::string& name) {
  return ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), static_cast<socklen_t>(name.size())) == 0;
}

Status no_socket(const char* what) {
  const int error = errno;
  return Status(Code::out_of_resources,
                fmt::format("cannot {} a TCP socket: {}{}", what, std::strerror(error),
                            error == EMFILE ? "; raise the limit of descriptors (ulimit -n)" : ""));
}

Status no_port(const char* what) {
  return errno == EADDRINUSE ? Status(Code::address_in_use, "the port is taken") : no_socket(what);
}

// Code::address_in_use where the port is taken there; 0: any.
Result<UniqueFd> listen_at(const Endpoint& endpoint, std::uint16_t port, const Settings& settings) {
  const bool anywhere = IN6_IS_ADDR_UNSPECIFIED(&endpoint.ip);
  UniqueFd fd(::socket(endpoint.is_ipv4() ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return no_socket("open");
  if (!endpoint.is_ipv4()) set(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, anywhere ? 0 : 1);
  set_buffers(fd.get(), settings);
  const SocketAddress address = socket_address_of({endpoint.ip, port, endpoint.scope});
  if (::bind(fd.get(), address.get(), address.bytes) != 0) return no_port("bind");
  if (::listen(fd.get(), SOMAXCONN) != 0) return no_port("listen on");
  keep_from_children(fd.get());
  return fd;
}

std::uint16_t local_port(int fd) {
  SocketAddress bound;
  bound.bytes = sizeof bound.storage;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound.storage), &bound.bytes);
  const auto endpoint = endpoint_of(bound.get());
  return endpoint ? endpoint->port : std::uint16_t{0};
}

}  // namespace

Result<ListeningSocket> listen_anywhere(const Settings& settings) {
  const Endpoint any_ipv6{};  // all zeros; takes IPv4 as well
  auto both = listen_on({&any_ipv6, 1}, settings);
  if (both) return both;
  const Endpoint any_ipv4{{{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0}}}};  // a host without IPv6
  return listen_on({&any_ipv4, 1}, settings);
}

Result<ListeningSocket> listen_on(std::span<const Endpoint> endpoints, const Settings& settings) {
  constexpr int tries = 64;  // for a port that is free at all of several addresses
  const int first = settings.ports.first, last = settings.ports.last;
  const int end = first == 0 ? tries : last - first + 1;
  for (int i = 0; i < end; ++i) {
    ListeningSocket made;
    made.port = static_cast<std::uint16_t>(first == 0 ? 0 : first + i);
    Status status;
    for (const Endpoint& endpoint : endpoints) {
      auto fd = listen_at(endpoint, made.port, settings);
      status = fd.status();
      if (!status.ok()) break;
      if (made.port == 0) made.port = local_port(fd->get());
      made.fds.push_back(std::move(*fd));
    }
    if (status.code() != Code::address_in_use) return status.ok() ? Result(std::move(made)) : status;
  }
  if (first == 0) return Status(Code::out_of_resources, "no TCP port is free at all addresses to listen at");
  return Status(
      Code::out_of_resources,
      fmt::format("all TCP ports of HOCKET_TCP_PORTS={}-{} are taken: give each rank of this host two, and two "
                  "more for each further communicator with links of its own",
                  first, last));
}

Result<UniqueFd> start_connecting(const Endpoint& endpoint, const Settings& settings) {
  UniqueFd fd(::socket(endpoint.is_ipv4() ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return no_socket("open");
  keep_from_children(fd.get());
  set_buffers(fd.get(), settings);
  tune(fd.get(), settings);
  const SocketAddress address = socket_address_of(endpoint);
  if (::connect(fd.get(), address.get(), address.bytes) != 0 && errno != EINPROGRESS && errno != EINTR) {
    return Status(Code::peer_lost, std::strerror(errno));
  }
  return fd;
}

int connect_error(int fd) {
  int error = 0;
  socklen_t bytes = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) return errno;
  return error;
}

bool all_refuse(std::span<const Endpoint> endpoints, Deadline deadline, const Settings& settings) {
  std::vector<UniqueFd> connecting;
  std::vector<pollfd> waits;
  for (const Endpoint& endpoint : endpoints) {
    auto begun = start_connecting(endpoint, settings);
    if (begun.status().code() == Code::out_of_resources) return false;
    if (!begun.ok()) continue;  // there is no way to this address, so it tells nothing
    waits.push_back({begun->get(), POLLOUT, 0});
    connecting.push_back(std::move(*begun));
  }
  for (std::size_t refusals = 0; refusals < connecting.size();) {
    if (::poll(waits.data(), waits.size(), deadline.remaining_ms()) < 0 && errno != EINTR) return false;
    for (pollfd& one : waits) {
      if (one.revents == 0) continue;
      if (connect_error(one.fd) != ECONNREFUSED) return false;
      one = {-1, 0, 0};
      ++refusals;
    }
    if (deadline.passed() && refusals < connecting.size()) return false;
  }
  return !connecting.empty();
}

Accepted accept_from(int listener) {
  SocketAddress address;
  address.bytes = sizeof address.storage;
  Accepted accepted;
  do {
    accepted.fd = UniqueFd(::accept4(listener, reinterpret_cast<sockaddr*>(&address.storage), &address.bytes,
                                     SOCK_NONBLOCK | SOCK_CLOEXEC));
  } while (!accepted.fd && (errno == EINTR || errno == ECONNABORTED));
  if (!accepted.fd) {
    accepted.error = errno;
  } else if (const auto endpoint = endpoint_of(address.get())) {
    accepted.from = *endpoint;
  }
  if (accepted.fd) keep_from_children(accepted.fd.get());
  return accepted;
}

void tune(int fd, const Settings& settings) {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, keepalive_idle_seconds);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, keepalive_interval_seconds);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, keepalive_probes);
  // A host's default may be bbr, which starves senders that share a core.
  for (const std::string& name : settings.congestion) {
    if (set_congestion(fd, name)) return;
  }
  if (settings.congestion.empty()) return;
  log::debug("no wanted congestion control can be chosen for TCP; the host's default stays");
}

bool may_lose_bytes(int fd) {
  constexpr int end_of_stream = 1;  // counts as a byte
  int unacknowledged = 0, unsent = 0;
  if (::ioctl(fd, SIOCOUTQ, &unacknowledged) != 0 || unacknowledged <= end_of_stream) return false;
  // Bytes wait here, too, while the peer reads nothing and its buffer is full.
  if (::ioctl(fd, SIOCOUTQNSD, &unsent) == 0 && unsent > end_of_stream) return true;
  SocketAddress own{.bytes = sizeof own.storage}, other{.bytes = sizeof other.storage};
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&own.storage), &own.bytes);
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&other.storage), &other.bytes) != 0) return false;
  const auto here = endpoint_of(own.get()), there = endpoint_of(other.get());
  return here && there && std::memcmp(&here->ip, &there->ip, sizeof here->ip) != 0;
}

std::optional<std::string> try_congestion(const std::string& name) {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd || !set_congestion(fd.get(), name)) return std::strerror(errno);
  return std::nullopt;
}

std::string usable_congestion() {
  const std::string contents = file_contents("/proc/sys/net/ipv4/tcp_allowed_congestion_control").value_or("");
  std::string_view lines = contents;
  return std::string(next_line(lines));
}

}  // namespace hocket::tcp
