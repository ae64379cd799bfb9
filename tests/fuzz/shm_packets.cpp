// What arrives on the Unix socket between ranks of one host. An input is a row of packets, each behind its length.
#include <sys/socket.h>

#include "src/base/bytes.hpp"
#include "src/base/printable.hpp"
#include "tests/fuzz/target.hpp"
#include "transports/shm/channel.hpp"

namespace hocket::fuzz {
namespace {

using shm::Channel;
using shm::Packet;
using shm::PacketKind;

struct Ends {
  UniqueFd ours, theirs;
};

Ends open_pair() {
  int fds[2];
  require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

void look_at(const Packet& packet) {
  require(packet.kind >= PacketKind::hello && packet.kind <= PacketKind::distrust);
  if (packet.kind == PacketKind::cause) {
    const Cause cause = shm::cause_of(packet);
    require_printable(cause.operation);
    require_printable(cause.message);
    require(cause.code != Code::ok && cause.code != Code::in_progress);
  }
  require_printable(printable(packet.text));
}

bool run(std::string_view input) {
  Ends ends = open_pair();
  Channel channel(std::move(ends.ours));
  bool taken = false;
  for (ByteReader reader(input); reader.left() > 0;) {
    const auto wanted = std::size_t{reader.take<std::uint16_t>()};
    const std::string_view bytes = reader.text(std::min(wanted, reader.left()));
    if (bytes.empty()) continue;
    if (::send(ends.theirs.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) break;
    Packet packet;
    switch (channel.receive(packet)) {
      case Channel::Event::packet: look_at(packet); break;
      case Channel::Event::malformed: return false;
      default: std::abort();
    }
    taken = true;
  }
  return taken;
}

// What a channel writes for a packet.
std::string sent(const Packet& packet) {
  Ends ends = open_pair();
  Channel(std::move(ends.ours)).send(packet);
  std::string bytes(8192, '\0');
  const ssize_t got = ::recv(ends.theirs.get(), bytes.data(), bytes.size(), 0);
  require(got > 0);
  bytes.resize(static_cast<std::size_t>(got));
  std::string counted;
  append(counted, static_cast<std::uint16_t>(bytes.size()));
  return counted + bytes;
}

std::vector<std::string> seeds() {
  const Cause cause{.code = Code::timeout, .message = "rank 2 is late", .rank = 0, .peer = 2, .operation = "barrier"};
  const std::string hello = sent({.kind = PacketKind::hello, .words = {4711, 1, 0}});
  const std::string ready = sent({.kind = PacketKind::ready, .words = {1, 14, 2}, .text = "no memory"});
  return {hello, ready, sent(shm::packet_of(cause)),
          hello + sent({.kind = PacketKind::ring, .words = {65536}}) + sent({.kind = PacketKind::goodbye})};
}

}  // namespace

const Target shm_packets{"shm_packets", run, seeds};

}  // namespace hocket::fuzz
