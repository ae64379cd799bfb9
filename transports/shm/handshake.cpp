#include "transports/shm/handshake.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>

#include "src/base/environment.hpp"

namespace hocket::shm {
namespace {

using std::chrono_literals::operator""s;

constexpr auto greeting_timeout = 10s;  // for a peer that has connected to say hello
constexpr std::size_t host_id_bytes_max = 256;

struct Name {
  sockaddr_un address{};
  socklen_t bytes = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// Abstract: it vanishes with its socket, and is told from a path by its first byte, which is zero.
Name name_of(std::uint64_t group, Rank rank) {
  const std::string text = fmt::format("hocket-{:016x}-{}", group, rank);
  Name name;
  name.address.sun_family = AF_UNIX;
  std::memcpy(name.address.sun_path + 1, text.data(), text.size());
  name.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

UniqueFd new_socket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

ucred peer_of(int fd) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return {0, static_cast<uid_t>(-1), 0};
  return peer;
}

std::string other_user(uid_t uid) {
  return fmt::format("it belongs to user {}, not {}", uid, ::geteuid());
}

Packet packet_of(PacketKind kind, const Hello& hello) {
  return {.kind = kind,
          .words = {hello.group, static_cast<std::uint64_t>(hello.from), static_cast<std::uint64_t>(hello.to), 0}};
}

Hello hello_of(const Packet& packet) {
  return {packet.words[0], static_cast<Rank>(packet.words[1]), static_cast<Rank>(packet.words[2])};
}

}  // namespace

Result<Address> local_address() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  struct stat network {
  }, users{};
  if (boot.empty() || ::stat("/proc/self/ns/net", &network) != 0 || ::stat("/proc/self/ns/user", &users) != 0) {
    return Status(Code::unsupported, "/proc does not tell which host this is");
  }
  const auto given = environment::find({"HOCKET_HOST_ID"});
  const std::string host = given ? given->value : "";
  if (host.size() > host_id_bytes_max) {
    return Status(Code::invalid_environment,
                  fmt::format("HOCKET_HOST_ID has more than {} characters", host_id_bytes_max));
  }
  return fmt::format("1 {} net {} user {}/{} {}", boot, network.st_ino, users.st_ino, ::geteuid(), host);
}

bool on_one_kernel(std::string_view one, std::string_view other) {
  const auto kernel_of = [](std::string_view address) { return address.substr(0, address.find(" net ")); };
  const auto host_of = [](std::string_view address) {
    const auto users = address.find(" user ");
    return users == address.npos ? std::string_view()
                                 : address.substr(std::min(address.find(' ', users + 6), address.size()));
  };
  return kernel_of(one) == kernel_of(other) && host_of(one) == host_of(other);
}

Result<UniqueFd> listen_as(std::uint64_t group, Rank rank) {
  const Name name = name_of(group, rank);
  UniqueFd fd = new_socket();
  if (fd && ::bind(fd.get(), name.get(), name.bytes) == 0 && ::listen(fd.get(), SOMAXCONN) == 0) return fd;
  if (fd && errno == EADDRINUSE) {
    return Status(Code::address_in_use, fmt::format("another process has the Unix socket of rank {} already", rank));
  }
  return Status(Code::out_of_resources, fmt::format("cannot listen on a Unix socket: {}", std::strerror(errno)));
}

Handshake Dial::fail(std::string problem) {
  problem_ = std::move(problem);
  connection_ = {};
  return Handshake::failed;
}

Handshake Dial::begin() {
  UniqueFd fd = new_socket();
  if (!fd) return fail(std::strerror(errno));
  const Name name = name_of(hello_.group, hello_.to);
  if (::connect(fd.get(), name.get(), name.bytes) != 0) {
    if (errno == EAGAIN || errno == EINTR) return Handshake::waiting;  // too many dial at once
    return fail(errno == ECONNREFUSED ? "nobody listens there" : std::strerror(errno));
  }
  const ucred peer = peer_of(fd.get());
  if (peer.uid != ::geteuid()) return fail(other_user(peer.uid));
  connection_.channel = Channel(std::move(fd));
  connection_.pid = peer.pid;
  connection_.channel.send(packet_of(PacketKind::hello, hello_), {&wake_event_, 1});
  return Handshake::waiting;
}

Handshake Dial::step() {
  if (!connection_.channel) {
    if (const Handshake now = begin(); !connection_.channel) return now;
  }
  Packet packet;
  switch (connection_.channel.receive(packet)) {
    case Channel::Event::nothing: return Handshake::waiting;
    case Channel::Event::packet: break;
    case Channel::Event::no_room: return fail("no file descriptor is left; raise `ulimit -n`");
    case Channel::Event::end: return fail("it refused us");
    case Channel::Event::nonsense: return fail("it does not speak Hocket's protocol");
    case Channel::Event::error: return fail(std::strerror(connection_.channel.error()));
  }
  const Hello hello = hello_of(packet);
  if (packet.kind != PacketKind::welcome || packet.fds.size() != 1 || hello.group != hello_.group ||
      hello.from != hello_.to || hello.to != hello_.from) {
    return fail("another group or rank listens there");
  }
  connection_.wake_event = std::move(packet.fds.front());
  return Handshake::done;
}

Greeting::Greeting(UniqueFd fd) : deadline_(Deadline::after(greeting_timeout)) {
  const ucred peer = peer_of(fd.get());
  uid_ = peer.uid;
  connection_.pid = peer.pid;
  connection_.channel = Channel(std::move(fd));
}

Handshake Greeting::step() {
  const auto fail = [&](std::string problem) {
    problem_ = std::move(problem);
    return Handshake::failed;
  };
  if (uid_ != ::geteuid()) return fail(other_user(uid_));
  Packet packet;
  switch (connection_.channel.receive(packet)) {
    case Channel::Event::nothing: return deadline_.passed() ? fail("it did not say who it is") : Handshake::waiting;
    case Channel::Event::packet: break;
    case Channel::Event::no_room: return fail("no file descriptor is left; raise `ulimit -n`");
    case Channel::Event::end:
    case Channel::Event::error: return fail("");
    case Channel::Event::nonsense: return fail("it does not speak Hocket's protocol");
  }
  if (packet.kind != PacketKind::hello || packet.fds.size() != 1) return fail("it does not say hello");
  hello_ = hello_of(packet);
  connection_.wake_event = std::move(packet.fds.front());
  return Handshake::done;
}

Connection Greeting::welcome(int wake_event) && {
  connection_.channel.send(packet_of(PacketKind::welcome, {hello_.group, hello_.to, hello_.from}), {&wake_event, 1});
  return std::move(connection_);
}

}  // namespace hocket::shm
