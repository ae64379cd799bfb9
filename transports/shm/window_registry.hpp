// WindowRegistry: brings packets to the windows that they belong to.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "transports/shm/shm_link.hpp"

namespace hocket::shm {

class ShmWindow;

class WindowRegistry final : public PacketSink {
 public:
  bool deliver(Rank from, Packet& packet) override;
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
