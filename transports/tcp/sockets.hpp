// The few socket calls that connecting needs, with every setting in one place. All sockets are non-blocking and closed
// on exec.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/fd.hpp"
#include "src/spi/status.hpp"
#include "transports/tcp/endpoint.hpp"
#include "transports/tcp/settings.hpp"

namespace hocket::tcp {

// One or several, on one port, which is among those of the settings, if these name any.
struct ListeningSocket {
  std::vector<UniqueFd> fds;
  std::uint16_t port = 0;
};

// On all interfaces, IPv6 and IPv4. Code::out_of_resources where no socket or port is left.
Result<ListeningSocket> listen_anywhere(const Settings& settings = {});
// At these addresses alone; their ports do not count.
Result<ListeningSocket> listen_on(std::span<const Endpoint> endpoints, const Settings& settings = {});

// Begins to connect; poll(2) says POLLOUT when that has ended. Code::peer_lost where it cannot even begin.
Result<UniqueFd> start_connecting(const Endpoint& endpoint, const Settings& settings = {});
// How connecting ended: 0 or an errno.
int connect_error(int fd);
// Whether nobody listens at any of these to which there is a way, as their kernels say before the deadline.
bool all_refuse(std::span<const Endpoint> endpoints, Deadline deadline, const Settings& settings = {});

// A newcomer. `error` is an errno when there is none; EAGAIN: nobody waits.
struct Accepted {
  UniqueFd fd;
  Endpoint from;
  int error = 0;
};
Accepted accept_from(int listener);

// The settings of a connection that carries data.
void tune(int fd, const Settings& settings = {});

// Whether closing now may lose bytes that were sent: a reset in answer to what the peer still sends here discards those
// that this host's kernel keeps, which are all that the peer's host has not acknowledged. What stays on this host is
// not lost on the way, so there only those count for which the peer has had no room yet.
bool may_lose_bytes(int fd);

// Why a socket of this host cannot have this congestion control; nothing: it can.
std::optional<std::string> try_congestion(const std::string& name);
// Those that any process of this host may choose, between spaces.
std::string usable_congestion();

}  // namespace hocket::tcp
