// What the operations on one window share.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "src/base/shared_copy.hpp"
#include "src/exec/direct/payload_ring.hpp"
#include "src/plan/direct/path.hpp"
#include "src/plan/direct/staging.hpp"
#include "src/spi/transport.hpp"
#include "src/spi/window.hpp"

namespace hocket {

class GpuWindow;

struct WindowUse {
  Window* window = nullptr;
  std::string_view transport = {};           // that it is of
  DirectSetting setting = {};                // but for staging_bytes, which the window says
  const TransportListener* names = nullptr;  // of communicators, for messages
  std::shared_ptr<GpuWindow> gpu = {};       // for data in memory of a GPU that the members share; null: it takes none

  std::uint64_t turn = 0;     // of the operation begun last
  std::uint64_t counted = 0;  // how many operations have used StageCounts: those that take more than announcements
  std::vector<std::uint64_t> heard = {};  // by member: up to which turn its calls have been checked
  std::uint64_t everyone_heard = 0;       // at most the least of these
  Payloads payloads = {};                 // own ones
  SharedCopy copy = {};                   // of own data into the staging area
  std::uint32_t digest = 0;               // of all own calls
  std::array<std::uint32_t, direct::announcements> sequences =
      {};  // own calls' numbers in their communicators, by turn
  DirectRule rule_of(const Exchange& exchange) const {
    DirectSetting in_this_window = setting;
    in_this_window.staging_bytes = window->staging_bytes();
    return direct_rule(exchange, in_this_window);
  }
  // Whether a call that may make single copies of so many bytes does in this turn: all members must agree, and announce
  // so. Now and then it does not, so that `copy` measures again.
  bool makes_single_copies(std::uint64_t of_turn, std::size_t bytes, SharedCopy::Traffic traffic) const {
    constexpr std::uint64_t turns_between_trials = 64;
    if (setting.single_copy == SingleCopy::always) return true;
    return of_turn % turns_between_trials != 0 &&
           window->plain_reads().pay(thresholds_of(setting).read_ratio_max, copy.seconds_per_byte(bytes, traffic));
  }
  std::uint32_t& sequence(std::uint64_t of_turn) { return sequences[of_turn % direct::announcements]; }
};

}  // namespace hocket
