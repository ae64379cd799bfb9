// BusyResources: what the operations that run, or wait before others, use of an executor: directions of links, and the
// window.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "src/exec/operation.hpp"

namespace hocket {

class BusyResources {
 public:
  void clear() {
    window_ = false;
    std::fill(directions_.begin(), directions_.end(), false);
  }
  // Takes what the operation uses. Returns whether all of it was free.
  bool take(const Operation& operation) {
    bool free = operation.window() == nullptr || !std::exchange(window_, true);
    for (const Direction& direction : operation.directions()) {
      if (is_taken(direction)) free = false;
    }
    for (const Direction& direction : operation.directions()) take(direction);
    return free;
  }
  bool is_taken(const Direction& direction) const {
    const std::size_t place = place_of(direction);
    return place < directions_.size() && directions_[place];
  }
  void take(const Direction& direction) {
    const std::size_t place = place_of(direction);
    if (place >= directions_.size()) directions_.resize(place + 1, false);
    directions_[place] = true;
  }

 private:
  static std::size_t place_of(const Direction& direction) {
    return 2 * static_cast<std::size_t>(direction.peer) + (direction.outgoing ? 1 : 0);
  }

  bool window_ = false;
  std::vector<bool> directions_;
};

}  // namespace hocket
