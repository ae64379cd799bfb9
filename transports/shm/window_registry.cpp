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
  if (number < next_) return true;  // closed here already
  if (early_.size() == early_max) return false;
  early_.push_back({from, std::move(packet)});
  return true;
}

std::uint64_t WindowRegistry::open(ShmWindow& window) {
  const std::uint64_t number = next_++;
  open_[number] = &window;
  std::vector<Early> waiting = std::exchange(early_, {});
  for (Early& early : waiting) deliver(early.from, early.packet);
  return number;
}

}  // namespace hocket::shm
