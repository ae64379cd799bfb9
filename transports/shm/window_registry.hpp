// WindowRegistry: brings packets to the windows that they belong to, and finds there what ranks have registered.
//
// Windows that two ranks have in common have different numbers, others may have the same. So it is the number and the
// peer together that tell which window is meant.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "transports/shm/shm_link.hpp"

namespace hocket::shm {

class ShmWindow;

class WindowRegistry final : public LinkWindows {
 public:
  bool deliver(Rank from, Packet& packet) override;
  std::optional<PayloadPlace> place_of(Rank peer, const std::byte* data, std::size_t bytes) override;
  const std::byte* find(Rank peer, const PayloadPlace& place, std::size_t offset, std::size_t bytes) override;
  // Whether a window with this number and one of these peers is there, or was. This rank may be among them.
  bool is_used(std::uint64_t number, std::span<const Rank> members) const;
  // A window comes to be. `peers`: its members, this rank aside; is_used() is false of its number and these. What comes
  // for it is kept until it opens.
  void add(const ShmWindow& window, std::vector<Rank> peers);
  // It opens: hands it what came early.
  void open(ShmWindow& window);
  // It is no more, and what still comes for it is dropped. Needs no memory, as destructors have to close.
  void close(const ShmWindow& window) noexcept;
  // Tells the members of all windows which regions are gone.
  void announce_removals();

 private:
  struct Entry {
    std::vector<Rank> peers;
    const ShmWindow* made = nullptr;  // until it is closed
    ShmWindow* open = nullptr;        // the same, once it takes packets

    bool has(Rank peer) const { return std::ranges::find(peers, peer) != peers.end(); }
  };
  struct Early {
    Rank from;
    Packet packet;
  };

  const Entry* entry_with(std::uint64_t number, Rank peer) const;
  Entry& entry_of(const ShmWindow& window);

  std::multimap<std::uint64_t, Entry> windows_;  // by number
  std::vector<Early> early_;                     // for windows that this rank has not opened yet
};

}  // namespace hocket::shm
