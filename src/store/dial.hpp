// Connects to a store's server that may start later than its clients.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>

#include "src/base/fd.hpp"
#include "src/base/socket.hpp"
#include "src/base/trust.hpp"
#include "src/spi/status.hpp"

namespace hocket::store {

struct Dialled {
  Socket socket;     // non-blocking, greeted
  std::string rest;  // bytes that arrived after the greeting
};

// Tries again until the deadline while nobody listens, and says so once in the log. Code::store_unreachable at the
// deadline, naming host, port and the last failure; Code::protocol_error at once where something else than a store of
// this version answers; Code::mismatch at once where it and this side do not trust each other,
// Code::invalid_environment where it is on another host and there is no secret, Code::out_of_resources where its
// process or this one has no descriptor left; Code::aborted when `stop` is requested.
Result<Dialled> dial(const std::string& host, std::uint16_t port, Deadline deadline, const std::stop_token& stop,
                     const Trust& trust);

// Connects alone, and once: store_unreachable where nobody listens.
Result<UniqueFd> dial_socket(const std::string& host, std::uint16_t port, Deadline deadline,
                             const std::stop_token& stop);

// Whether every address of the host refuses to connect there: nobody listens. False where the deadline passes first.
bool is_refused(const std::string& host, std::uint16_t port, Deadline deadline);

}  // namespace hocket::store
