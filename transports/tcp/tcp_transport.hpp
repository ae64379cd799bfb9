// Ranks that reach each other by TCP. One listening socket, one link for each pair of ranks that speak.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/fd.hpp"
#include "src/spi/transport.hpp"
#include "transports/tcp/connector.hpp"
#include "transports/tcp/interfaces.hpp"
#include "transports/tcp/settings.hpp"
#include "transports/tcp/sockets.hpp"
#include "transports/tcp/tcp_link.hpp"

namespace hocket::tcp {

// Code::out_of_resources where no listening socket can be had, invalid_environment where HOCKET_SOCKET_IFNAME or
// HOCKET_SOCKET_FAMILY leave no address, or where a HOCKET_TCP_ variable is wrong.
Result<std::unique_ptr<Transport>> make_transport(const TransportConfig& config);

class TcpTransport final : public Transport {
 public:
  TcpTransport(const TransportConfig& config, const Settings& settings, ListeningSocket listening, LocalHost host);

  std::string_view name() const override { return "tcp"; }
  const Address& address() const override { return address_; }
  bool reaches(const Address& address) const override;
  Result<Link*> connect(Rank peer, const Address& address, std::optional<Deadline> deadline) override;
  bool others_end_connections() const override { return true; }
  bool may_live(const Address& address, Deadline deadline) const override;
  int descriptors_per_link() const override { return settings_.streams; }
  bool connected(Rank peer) const override { return connector_.connected(peer); }
  std::size_t progress() override;
  void listen(bool on) override { listening_ = on; }
  bool arm(std::vector<pollfd>& interests) override;
  void disarm() override { look_ = true; }
  void watch(std::vector<pollfd>& interests) override;
  std::uint64_t watch_epoch() const override { return connector_.watch_epoch(); }
  std::optional<Deadline> next_deadline() const override { return connector_.next_deadline(); }
  void close_door() override { connector_.close_door(); }
  void shut_down(const Status& why, Deadline deadline) override;

 private:
  std::size_t look_round();
  bool still_talking(bool await_peers) const;

  const TransportConfig config_;
  const pid_t owner_ = ::getpid();
  const Settings settings_;
  LinkContext context_;
  LocalHost host_;
  Address address_;
  Connector connector_;
  std::vector<pollfd> polled_;
  std::vector<std::pair<TcpLink*, std::size_t>> polled_streams_;  // what its first entries are
  bool listening_ = false;
  bool look_ = true;  // something may have happened on a link where nothing is pending
  unsigned calls_ = 0;
};

}  // namespace hocket::tcp
