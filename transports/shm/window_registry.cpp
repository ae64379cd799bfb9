#include "transports/shm/window_registry.hpp"

#include <utility>

#include "transports/shm/shm_window.hpp"

namespace hocket::shm {
namespace {

constexpr std::size_t early_max = 4096;

}  // namespace

bool WindowRegistry::deliver(Rank from, Packet& packet) {
  const std::uint64_t number = packet.words[0];
  if (const auto found = open_.find(number); found != open_.end()) return found->second->take(from, packet);
  if (closed_.contains(number)) return true;
  if (early_.size() == early_max) return false;
  early_.push_back({from, std::move(packet)});
  return true;
}

std::optional<PayloadPlace> WindowRegistry::place_of(Rank peer, const std::byte* data, std::size_t bytes) {
  for (const auto& [number, window] : open_) {
    const auto member = window->member_of(peer);
    if (!member) continue;
    const RegionRef ref = window->regions().locate_for(*member, data, bytes);
    if (ref.region != 0) {
      return PayloadPlace{.window = static_cast<std::uint32_t>(number), .region = ref.region, .offset = ref.offset};
    }
  }
  return std::nullopt;
}

const std::byte* WindowRegistry::find(Rank peer, const PayloadPlace& place, std::size_t offset, std::size_t bytes) {
  const auto found = open_.find(place.window);
  if (found == open_.end()) return nullptr;
  const auto member = found->second->member_of(peer);
  return member ? found->second->regions().find(*member, {place.region, place.offset + offset}, bytes) : nullptr;
}

void WindowRegistry::open(std::uint64_t number, ShmWindow& window) {
  open_[number] = &window;
  std::vector<Early> waiting = std::exchange(early_, {});
  for (Early& early : waiting) deliver(early.from, early.packet);
}

}  // namespace hocket::shm
