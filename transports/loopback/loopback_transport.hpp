// One rank's view of a hub.
#pragma once

#include <memory>
#include <vector>

#include "src/spi/transport.hpp"
#include "transports/loopback/loopback_hub.hpp"
#include "transports/loopback/loopback_link.hpp"

namespace hocket::loopback {

class LoopbackTransport final : public Transport {
 public:
  LoopbackTransport(std::shared_ptr<LoopbackHub> hub, const TransportConfig& config);
  ~LoopbackTransport() override;

  std::string_view name() const override { return "loopback"; }
  const Address& address() const override { return address_; }
  bool reaches(const Address& address) const override;
  Result<Link*> connect(Rank peer, const Address& address, std::optional<Deadline> deadline) override;
  bool connected(Rank peer) const override;
  std::size_t progress() override;
  void listen(bool on) override { listening_ = on; }
  bool arm(std::vector<pollfd>& interests) override;
  void disarm() override;
  void watch(std::vector<pollfd>& interests) override;
  std::uint64_t watch_epoch() const override { return 0; }  // always the same wake_event
  std::optional<Deadline> next_deadline() const override;
  void shut_down(const Status& why, Deadline deadline) override;

 private:
  void leave_unconnected(const Status& why);

  std::shared_ptr<LoopbackHub> hub_;
  TransportConfig config_;
  Address address_;
  Mailbox& mailbox_;
  std::vector<std::unique_ptr<LoopbackLink>> links_;  // by rank
  bool listening_ = false;
  bool down_ = false;
};

// For ranks of this process, which meet by config.group.
Result<std::unique_ptr<Transport>> make_transport(const TransportConfig& config);

}  // namespace hocket::loopback
