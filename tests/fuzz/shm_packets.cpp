// What arrives on the Unix socket between ranks of one host. An input is a row of packets, each behind its length.
#include "src/base/printable.hpp"
#include "tests/fuzz/socket_pairs.hpp"

namespace hocket::fuzz {
namespace {

using shm::Channel;
using shm::Packet;
using shm::PacketKind;

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
  Ends ends = open_pair(SOCK_SEQPACKET);
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
