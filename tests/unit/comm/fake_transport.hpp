// A transport that only says whom it reaches.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/spi/transport.hpp"

namespace hocket::testing_support {

class FakeTransport final : public Transport {
 public:
  // Reaches addresses that begin with `network`.
  FakeTransport(std::string name, std::string network, bool has_window = false)
      : name_(std::move(name)), network_(std::move(network)), has_window_(has_window) {}

  std::string_view name() const override { return name_; }
  bool has_window() const override { return has_window_; }
  const Address& address() const override { return network_; }
  bool reaches(const Address& address) const override { return address.starts_with(network_); }
  Result<Link*> connect(Rank, const Address&, std::optional<Deadline>) override {
    return Status(Code::unsupported, "a fake connects nobody");
  }
  bool connected(Rank) const override { return false; }
  void shut_down(const Status&, Deadline) override {}

  std::size_t progress() override { return 0; }
  void listen(bool) override {}
  bool arm(std::vector<pollfd>&) override { return true; }
  void disarm() override {}
  void watch(std::vector<pollfd>&) override {}
  std::uint64_t watch_epoch() const override { return 0; }
  std::optional<Deadline> next_deadline() const override { return std::nullopt; }

 private:
  const std::string name_;
  const Address network_;
  const bool has_window_;
};

}  // namespace hocket::testing_support
