// Ranks of one host that reach each other through shared memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/fd.hpp"
#include "src/spi/transport.hpp"
#include "transports/common/accept_guard.hpp"
#include "transports/common/expected_link.hpp"
#include "transports/shm/door.hpp"
#include "transports/shm/shm_link.hpp"
#include "transports/shm/shm_window.hpp"

namespace hocket::shm {

// Code::unsupported where this process may not share memory, and why; Code::invalid_environment for a bad
// HOCKET_HOST_ID.
Result<std::unique_ptr<Transport>> make_transport(const TransportConfig& config);

class ShmTransport final : public Transport {
 public:
  ShmTransport(const TransportConfig& config, Address address, UniqueFd listener, UniqueFd bell);
  ~ShmTransport() override;

  std::string_view name() const override { return "shm"; }
  bool has_window() const override { return true; }
  const Address& address() const override { return address_; }
  bool reaches(const Address& address) const override;
  Result<Link*> connect(Rank peer, const Address& address, std::optional<Deadline> deadline) override;
  bool connected(Rank peer) const override;
  Result<std::unique_ptr<Window>> open_window(std::span<const Rank> members, Deadline deadline) override;
  std::size_t progress() override;
  void listen(bool on) override { listening_ = on; }
  bool arm(std::vector<pollfd>& interests) override;
  void disarm() override;
  void watch(std::vector<pollfd>& interests) override;
  std::uint64_t watch_epoch() const override { return watch_epoch_; }
  std::optional<Deadline> next_deadline() const override;
  void shut_down(const Status& why, Deadline deadline) override;

 private:
  using Expected = ExpectedLink<ShmLink, Dial>;

  ShmLink& make_link(Rank peer);
  ShmLink& expect(Rank peer, std::optional<Deadline> deadline);
  void attach(ShmLink& link, Connection connection);
  void append_interests(std::vector<pollfd>& interests, short events);
  std::size_t look_round();
  void answer_door();
  std::size_t step_greetings();
  std::size_t step_expected();
  bool step(Expected& expected);
  std::string admit(Greeting& greeting);
  void refuse(const Greeting& greeting, const std::string& why);
  Status check_members(std::span<const Rank> members) const;
  template <class Done>
  Status await(const ShmWindow& window, std::span<ShmLink* const> links, Done done, Deadline deadline);

  TransportConfig config_;
  WindowDesk desk_;
  LinkContext context_;
  Address address_;
  UniqueFd listener_;
  UniqueFd bell_;  // rung by peers while this process sleeps in poll(2)
  AcceptGuard accept_guard_;
  std::vector<std::unique_ptr<ShmLink>> by_rank_;
  std::vector<ShmLink*> links_;  // those that exist
  std::vector<Expected> expected_;
  std::vector<Greeting> greetings_;
  std::optional<Status> shut_down_with_;
  std::vector<pollfd> polled_;
  bool listening_ = false;
  bool look_ = true;  // something may have happened on a socket
  unsigned calls_ = 0;
  std::uint64_t watch_epoch_ = 0;
  mutable bool told_of_separation_ = false;
};

}  // namespace hocket::shm
