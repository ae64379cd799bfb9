// Ranks that reach each other by TCP. One listening socket, one link for each pair of ranks that speak.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/fd.hpp"
#include "src/spi/transport.hpp"
#include "transports/common/accept_guard.hpp"
#include "transports/common/expected_link.hpp"
#include "transports/tcp/endpoint.hpp"
#include "transports/tcp/handshake.hpp"
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
  bool connected(Rank peer) const override;
  std::size_t progress() override;
  void listen(bool on) override { listening_ = on; }
  bool arm(std::vector<pollfd>& interests) override;
  void disarm() override { look_ = true; }
  void watch(std::vector<pollfd>& interests) override;
  std::uint64_t watch_epoch() const override { return watch_epoch_; }
  std::optional<Deadline> next_deadline() const override;
  void shut_down(const Status& why, Deadline deadline) override;

 private:
  // A link, or one stream of it; without a dial the peer dials, all streams.
  struct Expected : ExpectedLink<TcpLink, Dial> {
    std::uint16_t stream;
  };

  TcpLink& make_link(Rank peer, std::uint16_t streams);
  void attach(TcpLink& link, std::uint16_t stream, UniqueFd fd, std::string address);
  void dial_more(const Expected& first);
  bool unsettled() const { return !expected_.empty() || !greetings_.empty(); }
  std::size_t look_round();
  std::size_t greetings_max() const;
  void answer_door();
  std::size_t step_greetings();
  std::size_t step_expected();
  bool step(Expected& expected);
  std::string admit(Greeting& greeting);
  void refuse(const Greeting& greeting, const std::string& why);
  bool still_talking(bool await_peers) const;

  TransportConfig config_;
  Settings settings_;
  LinkContext context_;
  UniqueFd listener_;
  LocalHost host_;
  Address address_;
  AcceptGuard accept_guard_;
  std::vector<std::unique_ptr<TcpLink>> by_rank_;
  std::vector<TcpLink*> links_;  // those that exist
  std::vector<Expected> expected_;
  std::vector<Expected> more_;  // that will be expected when the first stream of their link stands
  std::vector<Greeting> greetings_;
  std::optional<Status> shut_down_with_;
  std::vector<pollfd> polled_;
  bool listening_ = false;
  bool look_ = true;  // something may have happened on a link where nothing is pending
  unsigned calls_ = 0;
  std::uint64_t watch_epoch_ = 0;
};

}  // namespace hocket::tcp
