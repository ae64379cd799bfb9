// Taken: what the operations that run, or wait before others, use of a communicator: directions of links, and the
// window.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "src/exec/operation.hpp"

namespace hocket {

class Taken {
 public:
  void clear() {
    window_ = false;
    std::fill(directions_.begin(), directions_.end(), false);
  }
  // Takes what the operation uses. Returns whether all of it was free.
  bool take(const Operation& operation) {
    bool free = operation.window() == nullptr || !std::exchange(window_, true);
    for (const Channel& channel : operation.channels()) {
      if (is_taken(channel)) free = false;
    }
    for (const Channel& channel : operation.channels()) directions_[place_of(channel)] = true;
    return free;
  }

 private:
  static std::size_t place_of(const Channel& channel) {
    return 2 * static_cast<std::size_t>(channel.peer) + (channel.outgoing ? 1 : 0);
  }
  bool is_taken(const Channel& channel) {
    const std::size_t place = place_of(channel);
    if (place >= directions_.size()) directions_.resize(place + 1, false);
    return directions_[place];
  }

  bool window_ = false;
  std::vector<bool> directions_;
};

}  // namespace hocket
