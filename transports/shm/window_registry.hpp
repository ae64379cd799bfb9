// WindowRegistry: brings packets to the windows that they belong to, and finds there what ranks have registered.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "transports/shm/shm_link.hpp"

namespace hocket::shm {

class ShmWindow;

class WindowRegistry final : public LinkWindows {
 public:
  bool deliver(Rank from, Packet& packet) override;
  std::optional<PayloadPlace> place_of(Rank peer, const std::byte* data, std::size_t bytes) override;
  const std::byte* find(Rank peer, const PayloadPlace& place, std::size_t offset, std::size_t bytes) override;
  // The next window opens, under the number that is returned: hands it what came early.
  std::uint64_t open(ShmWindow& window);
  void close(std::uint64_t number) { open_.erase(number); }
  const std::map<std::uint64_t, ShmWindow*>& windows() const { return open_; }

 private:
  struct Early {
    Rank from;
    Packet packet;
  };
  std::map<std::uint64_t, ShmWindow*> open_;
  std::uint64_t next_ = 0;
  std::vector<Early> early_;  // for windows that this rank has not opened yet
};

}  // namespace hocket::shm
