// What the operations on one window share.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "src/plan/direct/path.hpp"
#include "src/plan/direct/staging.hpp"
#include "src/spi/transport.hpp"
#include "src/spi/window.hpp"

namespace hocket {

struct WindowUse {
  Window* window = nullptr;
  std::uint64_t turn = 0;     // of the operation begun last
  std::uint64_t counted = 0;  // how many operations have used Progress: those that take more than announcements
  std::vector<std::uint64_t> heard = {};  // by member: up to which turn its calls have been checked
  std::uint64_t everyone_heard = 0;       // at most the least of these
  struct Call {
    Signature signature;
    std::uint32_t communicator = 0;
    std::uint32_t digest = 0;
  };
  std::array<Call, direct::announcements> calls = {};  // own ones, by turn
  Call& call(std::uint64_t of_turn) { return calls[of_turn % direct::announcements]; }
  SingleCopy single_copy = SingleCopy::automatic;
  const DirectThresholds* thresholds = nullptr;  // as DirectSetting has them
  const TransportListener* names = nullptr;      // of communicators, for messages
  bool shares_work = false;  // members outnumber cores: whoever is awake takes the next part. Equal on all members
};

}  // namespace hocket
