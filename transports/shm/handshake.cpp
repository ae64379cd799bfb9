#include "transports/shm/handshake.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>

#include "src/base/host_identity.hpp"
#include "src/base/trust.hpp"

namespace hocket::shm {
namespace {

using std::chrono_literals::operator""s;

constexpr auto greeting_timeout = 10s;  // for a peer that has connected to say hello
constexpr std::string_view no_descriptor = "no file descriptor is left; raise `ulimit -n`";
constexpr std::string_view kernel_mark = "on ";  // in an address: what follows is HostIdentity::kernel()

struct Name {
  sockaddr_un address{};
  socklen_t bytes = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// Abstract: it vanishes with its socket, and is told from a path by its first byte, which is zero.
Name address_of(std::uint64_t group, Rank rank) {
  const std::string text = name_of(group, rank);
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

Packet greeting_packet(PacketKind kind, const Hello& hello, std::string_view text = {}) {
  return {.kind = kind,
          .words = {hello.group, static_cast<std::uint64_t>(hello.from), static_cast<std::uint64_t>(hello.to)},
          .text = std::string(text)};
}

Hello hello_of(const Packet& packet) {
  return {packet.words[0], static_cast<Rank>(packet.words[1]), static_cast<Rank>(packet.words[2])};
}

Packet greeting_packet(Distrust why) {
  return {.kind = PacketKind::distrust, .words = {static_cast<std::uint64_t>(why)}};
}

std::string refusal_in(const Packet& packet) {
  const auto why = distrust_of(static_cast<unsigned>(packet.words[0]));
  return "it refused us: " + (why ? said_to_us(*why) : "it does not say why");
}

}  // namespace

Result<Address> local_address() {
  const HostIdentity host = HostIdentity::own();
  if (host.boot.empty() || host.network == 0 || host.users == 0) {
    const UniqueFd any(::open("/", O_PATH | O_CLOEXEC));
    if (!any && (errno == EMFILE || errno == ENFILE)) return Status(Code::out_of_resources, std::string(no_descriptor));
    return Status(Code::unsupported, "/proc does not say which host this is");
  }
  if (Status fits = host.check(); !fits.ok()) return fits;
  return fmt::format("2 net {} user {}/{} {}{}", host.network, host.users, ::geteuid(), kernel_mark, host.kernel());
}

bool on_one_kernel(std::string_view one, std::string_view other) {
  const auto kernel_of = [](std::string_view address) {
    return address.substr(std::min(address.find(kernel_mark), address.size()));
  };
  return kernel_of(one) == kernel_of(other);
}

// Everyone on the host can read the names of sockets; from this one, nobody finds out the group.
std::string name_of(std::uint64_t group, Rank rank) {
  const Mac mac = hmac_sha_256("hocket shm name", fmt::format("{} {:x} {}", channel_version, group, rank));
  return "hocket-" + hexadecimal(text_of(mac).substr(0, 16));
}

Result<UniqueFd> listen_as(std::uint64_t group, Rank rank) {
  const Name name = address_of(group, rank);
  UniqueFd fd = new_socket();
  if (fd && ::bind(fd.get(), name.get(), name.bytes) == 0 && ::listen(fd.get(), SOMAXCONN) == 0) return fd;
  if (fd && errno == EADDRINUSE) {
    return Status(Code::address_in_use, fmt::format("another process has the Unix socket of rank {} already", rank));
  }
  const char* const advice = errno == EMFILE ? "; raise `ulimit -n`" : "";
  return Status(Code::out_of_resources,
                fmt::format("cannot listen on a Unix socket: {}{}", std::strerror(errno), advice));
}

std::string context_of(const Hello& hello) {
  return fmt::format("shm {} {:x} {} {}", channel_version, hello.group, hello.from, hello.to);
}

// ---- the side that calls --------------------------------------------------------------------------------------------

Handshake Dial::fail(std::string problem, Code code) {
  problem_ = std::move(problem);
  code_ = code;
  connection_ = {};
  return Handshake::failed;
}

Handshake Dial::begin() {
  UniqueFd fd = new_socket();
  if (!fd) return fail(fmt::format("{}; raise `ulimit -n`", std::strerror(errno)), Code::out_of_resources);
  const Name name = address_of(hello_.group, hello_.to);
  if (::connect(fd.get(), name.get(), name.bytes) != 0) {
    if (errno == EAGAIN || errno == EINTR) return Handshake::waiting;  // too many dial at once
    refused_ = errno == ECONNREFUSED;
    return fail(refused_ ? "nobody listens there" : std::strerror(errno));
  }
  const ucred peer = peer_of(fd.get());
  if (peer.uid != ::geteuid()) return fail(other_user(peer.uid));
  connection_.channel = Channel(std::move(fd));
  connection_.pid = peer.pid;
  if (secret_.empty()) {
    connection_.channel.send(greeting_packet(PacketKind::hello, hello_), {&wake_event_, 1});
  } else {
    challenge_.emplace(secret_, Challenge::Side::dials, context_of(hello_));
    connection_.channel.send(greeting_packet(PacketKind::hello, hello_, challenge_->nonce()));
  }
  return Handshake::waiting;
}

Handshake Dial::step() {
  if (!connection_.channel) {
    if (const Handshake now = begin(); !connection_.channel) return now;
  }
  Packet packet;
  if (const Handshake now = read(packet); now != Handshake::done) return now;
  if (challenge_ && !proven_) return prove(packet);
  if (packet.kind != PacketKind::welcome) return fail("it does not welcome us");
  return proven_ || take_wake_event(packet) ? Handshake::done : Handshake::failed;
}

// Of the first answer.
bool Dial::take_wake_event(Packet& packet) {
  if (packet.fds.size() == 1) {
    connection_.wake_event = std::move(packet.fds.front());
  } else {
    (void)fail("it does not say how to wake it");
  }
  return static_cast<bool>(connection_.channel);
}

// Done: a packet of the rank that was called has come, and no refusal.
Handshake Dial::read(Packet& packet) {
  switch (connection_.channel.receive(packet)) {
    case Channel::Event::nothing: return Handshake::waiting;
    case Channel::Event::packet: break;
    case Channel::Event::no_room:  // the peer counts this rank as connected: it is told, else it would take it for dead
      connection_.channel.send(packet_of(Cause{.code = Code::out_of_resources,
                                               .message = fmt::format("at rank {} {}", hello_.from, no_descriptor),
                                               .rank = hello_.from,
                                               .peer = hello_.from}));
      return fail(std::string(no_descriptor), Code::out_of_resources);
    case Channel::Event::end: return fail("it refused us");
    case Channel::Event::malformed: return fail("it does not speak Hocket's protocol");
    case Channel::Event::error: return fail(std::strerror(connection_.channel.error()));
  }
  if (packet.kind == PacketKind::distrust) return fail(refusal_in(packet));
  if (packet.kind == PacketKind::cause && failure_code(packet.words[0]) == Code::out_of_resources) {
    return fail(fmt::format("there, {}", no_descriptor), Code::out_of_resources);
  }
  const Hello hello = hello_of(packet);
  if (hello.group != hello_.group || hello.from != hello_.to || hello.to != hello_.from) {
    return fail("another group or rank listens there");
  }
  return Handshake::done;
}

// The challenge has come: that side has to prove first. What this side proves is answered by the welcome: until then
// the other may still leave without having taken it in.
Handshake Dial::prove(Packet& packet) {
  if (packet.kind != PacketKind::challenge) return fail(said_by_us(Distrust::needs_secret));
  const std::string nonce = packet.text.substr(0, Challenge::nonce_bytes);
  if (!challenge_->accepts(std::string_view(packet.text).substr(nonce.size()), nonce)) {
    connection_.channel.send(greeting_packet(Distrust::other_secret));
    return fail(said_by_us(Distrust::other_secret));
  }
  if (!take_wake_event(packet)) return Handshake::failed;
  connection_.channel.send(greeting_packet(PacketKind::proof, hello_, text_of(challenge_->proof(nonce))),
                           {&wake_event_, 1});
  proven_ = true;
  return Handshake::waiting;
}

// ---- the side that is called ----------------------------------------------------------------------------------------

Greeting::Greeting(UniqueFd fd, const AcceptGuard& guard, int wake_event)
    : guard_(&guard), own_wake_event_(wake_event), deadline_(Deadline::after(greeting_timeout)) {
  const ucred peer = peer_of(fd.get());
  uid_ = peer.uid;
  connection_.pid = peer.pid;
  connection_.channel = Channel(std::move(fd));
}

Handshake Greeting::fail(std::string problem) {
  problem_ = std::move(problem);
  return Handshake::failed;
}

// Says so to the other side, too, which may be a rank that was started wrongly.
Handshake Greeting::distrust(Distrust why) {
  connection_.channel.send(greeting_packet(why));
  return fail(said_by_us(why));
}

Handshake Greeting::step() {
  if (uid_ != ::geteuid()) return fail(other_user(uid_));
  for (Packet packet;;) {
    switch (connection_.channel.receive(packet)) {
      case Channel::Event::nothing: return deadline_.passed() ? fail("it did not say who it is") : Handshake::waiting;
      case Channel::Event::packet: break;
      case Channel::Event::no_room:  // the peer is told, else it would take this rank for dead
        lacked_descriptors_ = true;
        connection_.channel.send(
            packet_of(Cause{.code = Code::out_of_resources, .message = std::string(no_descriptor)}));
        return fail(std::string(no_descriptor));
      case Channel::Event::end:
      case Channel::Event::error: return fail(challenge_ ? "it left in the middle of its greeting" : "");
      case Channel::Event::malformed: return fail("it does not speak Hocket's protocol");
    }
    if (packet.kind == PacketKind::distrust) return fail(refusal_in(packet));
    if (challenge_) return take_proof(packet);
    if (const Handshake now = take_hello(packet); now != Handshake::waiting) return now;
  }
}

// Before this side proves anything, the newcomer has to look for this rank of this group.
Handshake Greeting::take_hello(Packet& packet) {
  if (packet.kind != PacketKind::hello) return fail("it does not say hello");
  hello_ = hello_of(packet);
  if (std::string objection = guard_->objection(hello_.group, hello_.from, hello_.to); !objection.empty()) {
    return fail(std::move(objection));
  }
  if (guard_->secret().empty() != packet.text.empty()) {
    return distrust(packet.text.empty() ? Distrust::needs_secret : Distrust::has_no_secret);
  }
  const bool challenged = !packet.text.empty();
  if (packet.text.size() != (challenged ? Challenge::nonce_bytes : 0) || packet.fds.size() != (challenged ? 0 : 1)) {
    return fail("it does not say hello as it should");
  }
  if (!challenged) {
    connection_.wake_event = std::move(packet.fds.front());
    return Handshake::done;
  }
  their_nonce_ = packet.text;
  challenge_.emplace(guard_->secret(), Challenge::Side::answers, context_of(hello_));
  std::string text(challenge_->nonce());
  text += text_of(challenge_->proof(their_nonce_));
  connection_.channel.send(greeting_packet(PacketKind::challenge, {hello_.group, hello_.to, hello_.from}, text),
                           {&own_wake_event_, 1});
  return Handshake::waiting;
}

Handshake Greeting::take_proof(Packet& packet) {
  const bool proves = packet.kind == PacketKind::proof && challenge_->accepts(packet.text, their_nonce_);
  if (!proves) return distrust(Distrust::other_secret);
  if (packet.fds.size() != 1) return fail("it proves what it should, but does not say how to wake it");
  connection_.wake_event = std::move(packet.fds.front());
  return Handshake::done;
}

Connection Greeting::welcome() && {
  const Hello answer{hello_.group, hello_.to, hello_.from};
  const std::size_t events = challenge_ ? 0 : 1;  // the challenge has brought it
  connection_.channel.send(greeting_packet(PacketKind::welcome, answer), std::span(&own_wake_event_, events));
  return std::move(connection_);
}

}  // namespace hocket::shm
