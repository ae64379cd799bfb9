#include "transports/shm/window_registry.hpp"

#include <utility>

#include "transports/shm/shm_window.hpp"

namespace hocket::shm {
namespace {

constexpr std::size_t early_max = 4096;

}  // namespace

bool WindowRegistry::deliver(Rank from, Packet& packet) {
  const std::uint64_t number = packet.words[0];
  if (const auto found = windows_.find(number); found != windows_.end()) {
    if (found->second.window != nullptr) return found->second.window->take(from, packet);
    if (found->second.is_closed) return true;
  }
  if (early_.size() == early_max) return false;
  early_.push_back({from, std::move(packet)});
  return true;
}

std::optional<PayloadPlace> WindowRegistry::place_of(Rank peer, const std::byte* data, std::size_t bytes) {
  for (const auto& [number, entry] : windows_) {
    ShmWindow* const window = entry.window;
    const auto member = window != nullptr ? window->member_of(peer) : std::nullopt;
    if (!member) continue;
    const RegionRef ref = window->regions().locate_for(*member, data, bytes);
    if (ref.region != 0) {
      return PayloadPlace{.window = static_cast<std::uint32_t>(number), .region = ref.region, .offset = ref.offset};
    }
  }
  return std::nullopt;
}

const std::byte* WindowRegistry::find(Rank peer, const PayloadPlace& place, std::size_t offset, std::size_t bytes) {
  const auto found = windows_.find(place.window);
  if (found == windows_.end() || found->second.window == nullptr) return nullptr;
  ShmWindow& window = *found->second.window;
  const auto member = window.member_of(peer);
  return member ? window.regions().find(*member, {place.region, place.offset + offset}, bytes) : nullptr;
}

void WindowRegistry::open(std::uint64_t number, ShmWindow& window) {
  windows_[number].window = &window;
  std::vector<Early> waiting = std::exchange(early_, {});
  for (Early& early : waiting) deliver(early.from, early.packet);
}

void WindowRegistry::close(std::uint64_t number) noexcept {
  const auto found = windows_.find(number);
  if (found != windows_.end()) found->second = {.window = nullptr, .is_closed = true};
}

void WindowRegistry::announce_removals() {
  for (const auto& [number, entry] : windows_) {
    if (entry.window != nullptr) entry.window->regions().announce_removals();
  }
}

}  // namespace hocket::shm
