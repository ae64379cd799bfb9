// WindowRegistry: brings packets to the windows that they belong to, and finds there what ranks have registered.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "transports/shm/shm_link.hpp"

namespace hocket::shm {

class ShmWindow;

class WindowRegistry final : public LinkWindows {
 public:
  bool deliver(Rank from, Packet& packet) override;
  std::optional<PayloadPlace> place_of(Rank peer, const std::byte* data, std::size_t bytes) override;
  const std::byte* find(Rank peer, const PayloadPlace& place, std::size_t offset, std::size_t bytes) override;
  // A window opens: hands it what came early. Its number is in no use, and has not been.
  void open(std::uint64_t number, ShmWindow& window);
  void close(std::uint64_t number) {
    open_.erase(number);
    closed_.insert(number);
  }
  bool is_used(std::uint64_t number) const { return open_.contains(number) || closed_.contains(number); }
  const std::map<std::uint64_t, ShmWindow*>& windows() const { return open_; }

 private:
  struct Early {
    Rank from;
    Packet packet;
  };
  std::map<std::uint64_t, ShmWindow*> open_;
  std::set<std::uint64_t> closed_;
  std::vector<Early> early_;  // for windows that this rank has not opened yet
};

}  // namespace hocket::shm
