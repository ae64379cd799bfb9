// Ranks of one host that reach each other through shared memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/base/fd.hpp"
#include "src/spi/transport.hpp"
#include "transports/shm/connector.hpp"
#include "transports/shm/shm_link.hpp"
#include "transports/shm/wake_socket.hpp"
#include "transports/shm/window_registry.hpp"

namespace hocket::shm {

// Code::unsupported where this process may not share memory, and why; Code::invalid_environment for a bad
// HOCKET_HOST_ID.
Result<std::unique_ptr<Transport>> make_transport(const TransportConfig& config);

class ShmTransport final : public Transport {
 public:
  ShmTransport(const TransportConfig& config, Address address, UniqueFd listener, UniqueFd wake_event);
  ~ShmTransport() override;

  std::string_view name() const override { return "shm"; }
  bool has_window() const override { return true; }
  const Address& address() const override { return address_; }
  bool reaches(const Address& address) const override;
  Result<Link*> connect(Rank peer, const Address& address, std::optional<Deadline> deadline) override;
  int descriptors_per_link() const override { return 3; }  // a socket, the peer's wake event, its process
  bool connected(Rank peer) const override { return connector_.connected(peer); }
  Result<std::unique_ptr<WindowOpening>> begin_window(std::uint32_t number, std::span<const Rank> members,
                                                      Deadline deadline, const Status& unfit) override;
  Result<std::unique_ptr<Window>> open_window(std::uint32_t number, std::span<const Rank> members,
                                              Deadline deadline) override;
  void store_past_caches(std::size_t bytes_min) override { context_.bytes_past_caches_min = bytes_min; }
  void leave_in_place(const PlainMessages& messages) override { context_.plain_messages = messages; }
  std::size_t progress() override;
  bool awaits_another_core() override;
  void listen(bool on) override { listening_ = on; }
  bool arm(std::vector<pollfd>& interests) override;
  void disarm() override;
  void watch(std::vector<pollfd>& interests) override;
  std::uint64_t watch_epoch() const override { return connector_.watch_epoch(); }
  std::optional<Deadline> next_deadline() const override { return connector_.next_deadline(); }
  void close_door() override { connector_.close_door(); }
  void shut_down(const Status& why, Deadline deadline) override;

 private:
  std::size_t look_round();
  void append_interests(std::vector<pollfd>& interests, short events);
  Status check_members(std::span<const Rank> members) const;
  Status open_wake_socket();

  const TransportConfig config_;
  WindowRegistry windows_;
  LinkContext context_;
  Address address_;
  UniqueFd wake_event_;     // set by peers while this process sleeps in poll(2)
  WakeSocket wake_socket_;  // the same for members of windows that are no peers
  Connector connector_;
  std::vector<pollfd> polled_;
  std::vector<std::size_t> first_polled_;  // of each link, and one beyond
  bool listening_ = false;
  bool look_ = true;  // something may have happened on a socket
  unsigned calls_ = 0;
  mutable bool told_of_separation_ = false;
};

}  // namespace hocket::shm
