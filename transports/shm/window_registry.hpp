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
  bool is_used(std::uint64_t number) const { return windows_.contains(number); }
  // A window comes to be, with a number that is in no use and has not been. What comes for it is kept until it opens.
  void add(std::uint64_t number) { windows_.try_emplace(number); }
  // It opens: hands it what came early.
  void open(std::uint64_t number, ShmWindow& window);
  // It is no more, and what still comes for it is dropped. Needs no memory, as destructors have to close.
  void close(std::uint64_t number) noexcept;
  // Tells the members of all windows which regions are gone.
  void announce_removals();

 private:
  struct Entry {
    ShmWindow* window = nullptr;  // while it is open
    bool is_closed = false;
  };
  struct Early {
    Rank from;
    Packet packet;
  };
  std::map<std::uint64_t, Entry> windows_;
  std::vector<Early> early_;  // for windows that this rank has not opened yet
};

}  // namespace hocket::shm
