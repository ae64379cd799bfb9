#include "transports/shm/channel.hpp"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "src/base/failure_code.hpp"
#include "src/base/printable.hpp"

namespace hocket::shm {
namespace {

constexpr std::uint32_t magic = 0x4d534b48;  // "HKSM"
constexpr std::size_t text_bytes_max = 4096;
constexpr std::size_t fds_max = 4;

struct Head {
  std::uint32_t magic;
  std::uint32_t version;
  PacketKind kind;
  std::uint32_t text_bytes;
  std::array<std::uint64_t, packet_words> words;
};

// Room for a control message with the file descriptors.
union Control {
  cmsghdr aligned;
  std::byte bytes[CMSG_SPACE(fds_max * sizeof(int))];
};

// Each is owned before memory may run out for the list of them.
std::vector<UniqueFd> take_fds(msghdr& message) {
  std::array<UniqueFd, fds_max> taken;
  std::size_t all = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count && all < taken.size(); ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      taken[all++] = UniqueFd(fd);
    }
  }
  const auto end = taken.begin() + static_cast<std::ptrdiff_t>(all);
  return {std::make_move_iterator(taken.begin()), std::make_move_iterator(end)};
}

bool well_formed(const Head& head, std::size_t taken) {
  return taken >= sizeof head && head.magic == magic && head.version == channel_version &&
         head.kind >= PacketKind::hello && head.kind <= PacketKind::distrust && head.text_bytes == taken - sizeof head;
}

}  // namespace

Code failure_code(std::uint64_t word) {
  return is_failure(word) ? static_cast<Code>(word) : Code::internal;
}

Packet packet_of(const Cause& cause) {
  Packet packet;
  packet.text.reserve(text_bytes_max);
  write_cause(packet, cause);
  return packet;
}

void write_cause(Packet& packet, const Cause& cause) {
  packet.kind = PacketKind::cause;
  const auto ranks =
      std::uint64_t{static_cast<std::uint32_t>(cause.rank)} << 32 | static_cast<std::uint32_t>(cause.peer);
  packet.words = {static_cast<std::uint64_t>(cause.code), ranks, cause.sequence,
                  std::bit_cast<std::uint64_t>(cause.elapsed_seconds)};
  packet.text.assign(std::string_view(cause.operation).substr(0, 64)).append(1, '\n');
  packet.text.append(std::string_view(cause.message).substr(0, text_bytes_max - packet.text.size()));
}

Cause cause_of(const Packet& packet) {
  Cause cause;
  cause.code = failure_code(packet.words[0]);
  cause.rank = static_cast<Rank>(packet.words[1] >> 32);
  cause.peer = static_cast<Rank>(packet.words[1] & 0xffffffff);
  cause.sequence = packet.words[2];
  cause.elapsed_seconds = std::bit_cast<double>(packet.words[3]);
  const auto line = packet.text.find('\n');
  if (line != std::string::npos) cause.operation = printable(packet.text.substr(0, line));
  cause.message = printable(packet.text.substr(line == std::string::npos ? 0 : line + 1), text_bytes_max);
  return cause;
}

Channel::Sent Channel::send_now(const Packet& packet, std::span<const int> fds) {
  const auto text = std::string_view(packet.text).substr(0, text_bytes_max);
  Head head{magic, channel_version, packet.kind, static_cast<std::uint32_t>(text.size()), packet.words};
  iovec parts[] = {{&head, sizeof head}, {const_cast<char*>(text.data()), text.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = std::size(parts);
  Control control{};
  if (!fds.empty()) {
    message.msg_control = &control;
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* const part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(part), fds.data(), fds.size_bytes());
  }
  ssize_t sent;
  do {
    sent = ::sendmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return Sent::yes;
  // ETOOMANYREFS: this user has too many descriptors on their way; peers are about to take them.
  const bool full = errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ETOOMANYREFS;
  broken_ = !full;
  return full ? Sent::full : Sent::broken;
}

void Channel::send(const Packet& packet, std::span<const int> fds) {
  if (broken_) return;
  if (waiting_.empty() && send_now(packet, fds) != Sent::full) return;
  Waiting later{{packet.kind, packet.words, packet.text, {}}};
  later.packet.fds.reserve(fds.size());  // none is open yet that would be lost without memory
  for (const int fd : fds) later.packet.fds.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  waiting_.push_back(std::move(later));
}

bool Channel::try_send(const Packet& packet, std::span<const int> fds) {
  return !broken_ && waiting_.empty() && send_now(packet, fds) == Sent::yes;
}

std::size_t Channel::unread() const {
  int bytes = 0;
  return ::ioctl(fd_.get(), SIOCOUTQ, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
}

void Channel::finish(const Packet* last) {
  if (last != nullptr) last_ = last;
  finishing_ = true;
  flush();
}

bool Channel::flush() {
  while (!waiting_.empty() && !broken_) {
    const Packet& front = waiting_.front().packet;
    std::array<int, fds_max> fds{};
    const auto end = std::ranges::transform(front.fds, fds.begin(), &UniqueFd::get).out;
    if (send_now(front, {fds.begin(), end}) == Sent::full) break;
    waiting_.pop_front();
  }
  if (last_ != nullptr && waiting_.empty() && !broken_ && send_now(*last_, {}) != Sent::full) last_ = nullptr;
  if (broken_) {
    waiting_.clear();
    last_ = nullptr;
  }
  if (finishing_ && !flushing() && !broken_) {
    ::shutdown(fd_.get(), SHUT_WR);
    finishing_ = false;
  }
  return !broken_;
}

Channel::Event Channel::receive(Packet& packet) {
  if (!fd_ || error_ != 0) return Event::end;
  struct {
    Head head;
    char text[text_bytes_max];
  } bytes;
  iovec part{&bytes, sizeof bytes};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof control;
  ssize_t taken;
  do {
    // ECONNRESET: the peer closed without having read everything; what it sent before is still there.
    taken = ::recvmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (taken < 0 && (errno == EINTR || errno == ECONNRESET));
  if (taken < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Event::nothing;
  if (taken < 0) {
    error_ = errno;
    return Event::error;
  }
  packet.fds = take_fds(message);
  if (taken == 0) return Event::end;
  if ((message.msg_flags & MSG_TRUNC) != 0 || !well_formed(bytes.head, static_cast<std::size_t>(taken))) {
    return Event::malformed;
  }
  packet.kind = bytes.head.kind;
  packet.words = bytes.head.words;
  packet.text.assign(bytes.text, bytes.head.text_bytes);
  return (message.msg_flags & MSG_CTRUNC) != 0 ? Event::no_room : Event::packet;
}

}  // namespace hocket::shm
