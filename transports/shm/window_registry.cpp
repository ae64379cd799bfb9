#include "transports/shm/window_registry.hpp"

#include <utility>

#include "transports/shm/shm_window.hpp"

namespace hocket::shm {
namespace {

constexpr std::size_t early_max = 4096;

}  // namespace

const WindowRegistry::Entry* WindowRegistry::entry_with(std::uint64_t number, Rank peer) const {
  const auto [first, last] = windows_.equal_range(number);
  const auto found = std::find_if(first, last, [&](const auto& window) { return window.second.has(peer); });
  return found != last ? &found->second : nullptr;
}

bool WindowRegistry::is_used(std::uint64_t number, std::span<const Rank> members) const {
  return std::ranges::any_of(members, [&](Rank member) { return entry_with(number, member) != nullptr; });
}

void WindowRegistry::add(const ShmWindow& window, std::vector<Rank> peers) {
  windows_.emplace(window.number(), Entry{.peers = std::move(peers), .made = &window});
}

WindowRegistry::Entry& WindowRegistry::entry_of(const ShmWindow& window) {
  const auto [first, last] = windows_.equal_range(window.number());
  return std::find_if(first, last, [&](const auto& one) { return one.second.made == &window; })->second;
}

void WindowRegistry::open(ShmWindow& window) {
  entry_of(window).open = &window;
  std::vector<Early> waiting = std::exchange(early_, {});
  for (Early& early : waiting) deliver(early.from, early.packet);
}

void WindowRegistry::close(const ShmWindow& window) noexcept {
  Entry& entry = entry_of(window);
  entry.made = entry.open = nullptr;
}

bool WindowRegistry::deliver(Rank from, Packet& packet) {
  const Entry* const entry = entry_with(packet.words[0], from);
  if (entry != nullptr && entry->open != nullptr) return entry->open->take(from, packet);
  if (entry != nullptr && entry->made == nullptr) return true;
  if (early_.size() == early_max) return false;
  early_.push_back({from, std::move(packet)});
  return true;
}

std::optional<PayloadPlace> WindowRegistry::place_of(Rank peer, const std::byte* data, std::size_t bytes) {
  for (const auto& [number, entry] : windows_) {
    const auto member = entry.open != nullptr ? entry.open->member_of(peer) : std::nullopt;
    if (!member) continue;
    const RegionRef ref = entry.open->regions().locate_for(*member, data, bytes);
    if (ref.region != 0) {
      return PayloadPlace{.window = static_cast<std::uint32_t>(number), .region = ref.region, .offset = ref.offset};
    }
  }
  return std::nullopt;
}

const std::byte* WindowRegistry::find(Rank peer, const PayloadPlace& place, std::size_t offset, std::size_t bytes) {
  const Entry* const entry = entry_with(place.window, peer);
  const auto member = entry != nullptr && entry->open != nullptr ? entry->open->member_of(peer) : std::nullopt;
  return member ? entry->open->regions().find(*member, {place.region, place.offset + offset}, bytes) : nullptr;
}

void WindowRegistry::announce_removals() {
  for (const auto& [number, entry] : windows_) {
    if (entry.open != nullptr) entry.open->regions().announce_removals();
  }
}

}  // namespace hocket::shm
