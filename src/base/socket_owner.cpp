#include "src/base/socket_owner.hpp"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>

#include "src/base/fd.hpp"

namespace hocket {
namespace {

struct Place {
  int family = AF_UNSPEC;
  std::array<std::uint32_t, 4> ip{};  // as the kernel has it; of IPv4, the first alone
  std::uint16_t port = 0;             // in the network's order

  bool is_loopback() const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(ip.data());
    if (family == AF_INET) return bytes[0] == 127;
    in6_addr address;
    std::memcpy(&address, ip.data(), sizeof address);
    return IN6_IS_ADDR_LOOPBACK(&address) || (IN6_IS_ADDR_V4MAPPED(&address) && bytes[12] == 127);
  }
};

using NameOf = int (*)(int, sockaddr*, socklen_t*);

std::optional<Place> place_of(int socket, NameOf name_of) {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof storage;
  if (name_of(socket, reinterpret_cast<sockaddr*>(&storage), &bytes) != 0) return std::nullopt;
  Place place{.family = storage.ss_family};
  if (storage.ss_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &storage, sizeof v4);
    place.ip[0] = v4.sin_addr.s_addr;
    place.port = v4.sin_port;
  } else if (storage.ss_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, &storage, sizeof v6);
    std::memcpy(place.ip.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
    place.port = v6.sin6_port;
  } else {
    return std::nullopt;
  }
  return place;
}

struct Request {
  nlmsghdr head{};
  inet_diag_req_v2 body{};
};

struct Answer {
  nlmsghdr head{};
  inet_diag_msg body{};
};

enum class Said {
  present,
  absent,
  nothing,      // this kernel does not tell
  out_of_room,  // no descriptor or memory was left to ask with
};

// Whether there is a socket at `from` that is connected to `to`, and what the kernel knows of it.
Said ask(const Place& from, const Place& to, inet_diag_msg& entry) {
  const UniqueFd netlink(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!netlink) {
    const bool out_of_room = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
    return out_of_room ? Said::out_of_room : Said::nothing;
  }
  Request request;
  request.head.nlmsg_len = sizeof request;
  request.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.head.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = static_cast<__u8>(from.family);
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.id.idiag_sport = from.port;
  request.body.id.idiag_dport = to.port;
  std::memcpy(request.body.id.idiag_src, from.ip.data(), sizeof from.ip);
  std::memcpy(request.body.id.idiag_dst, to.ip.data(), sizeof to.ip);
  request.body.id.idiag_cookie[0] = request.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (::send(netlink.get(), &request, sizeof request, 0) != static_cast<ssize_t>(sizeof request)) return Said::nothing;
  alignas(nlmsghdr) std::array<char, 4096> bytes;
  // The kernel answers before send() returns.
  const ssize_t got = ::recv(netlink.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == ENOBUFS || errno == ENOMEM)) return Said::out_of_room;
  Answer answer;
  if (got < static_cast<ssize_t>(sizeof answer.head)) return Said::nothing;
  std::memcpy(&answer, bytes.data(), std::min(static_cast<std::size_t>(got), sizeof answer));
  if (answer.head.nlmsg_type == NLMSG_ERROR) return Said::absent;
  if (answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY || got < static_cast<ssize_t>(sizeof answer)) return Said::nothing;
  entry = answer.body;
  // A socket that listens there is found where no other one is.
  return entry.id.idiag_sport == from.port && entry.id.idiag_dport == to.port ? Said::present : Said::absent;
}

}  // namespace

PeerOwner owner_of_peer(int socket) {
  const auto own = place_of(socket, ::getsockname), peer = place_of(socket, ::getpeername);
  if (own && !peer && errno == ENOTCONN) return PeerOwner::another_user;
  if (!own || !peer || own->family != peer->family) return PeerOwner::another_host;
  // A host that speaks to itself does so from the address that it speaks to.
  if (own->ip != peer->ip && !(own->is_loopback() && peer->is_loopback())) return PeerOwner::another_host;
  inet_diag_msg entry{}, mine{};
  Said said = ask(*peer, *own, entry);
  // A kernel that does not tell about TCP has no answer for a socket either that is there for certain: this one.
  if (said == Said::absent) {
    const Said of_mine = ask(*own, *peer, mine);
    if (of_mine != Said::present) said = of_mine == Said::out_of_room ? of_mine : Said::nothing;
  }
  if (said == Said::nothing) return PeerOwner::own;
  if (said == Said::out_of_room) return PeerOwner::unknown;
  // The user of a socket that no process has is said to be root.
  const bool trusted =
      said == Said::present && entry.idiag_inode != 0 && (entry.idiag_uid == ::geteuid() || entry.idiag_uid == 0);
  return trusted ? PeerOwner::own : PeerOwner::another_user;
}

}  // namespace hocket
