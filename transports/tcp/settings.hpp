// What a user may choose about connections. Meanings and defaults: docs/performance/tcp.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/tls.hpp"
#include "src/spi/status.hpp"
#include "transports/tcp/wire.hpp"

namespace hocket::tcp {

struct Settings {
  // Large enough that a sender seldom waits for the receiver's turn on a busy core, small enough to stay in cache.
  static constexpr int default_buffer_bytes = 1 << 20;

  std::uint8_t streams = 1;                                 // of a link; the larger of both sides' wishes holds
  std::vector<std::string> congestion = {"cubic", "reno"};  // the first that the host has; empty: the host's default
  struct Ports {
    std::uint16_t first = 0;  // 0: any
    std::uint16_t last = 0;
  };
  Ports ports;                                      // to listen on
  int send_buffer_bytes = default_buffer_bytes;     // 0: as the kernel sees fit
  int receive_buffer_bytes = default_buffer_bytes;  // 0: as the kernel sees fit

  // All connections are encrypted with it; none: none is. From who makes the transport, not from the environment: one
  // creation has one identity.
  std::optional<TlsIdentity> tls = {};

  // HOCKET_TCP_STREAMS, HOCKET_TCP_CONGESTION, HOCKET_TCP_PORTS, HOCKET_TCP_SEND_BUFFER and HOCKET_TCP_RECEIVE_BUFFER.
  // Code::invalid_environment names the variable and what it may be.
  // `streams`: where the first of these is auto; 0: one.
  static Result<Settings> from_environment(int streams = 0);
};

}  // namespace hocket::tcp
