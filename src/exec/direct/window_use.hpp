// What the operations on one window share.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "src/base/shared_copy.hpp"
#include "src/exec/direct/payload_ring.hpp"
#include "src/plan/direct/exchange.hpp"
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
  std::vector<SharedCopy> copies = {};    // of own data into the staging area, by reader; the own one: for everyone
  std::uint32_t digest = 0;               // of all own calls
  std::array<std::uint32_t, direct::announcements> sequences =
      {};  // own calls' numbers in their communicators, by turn

  DirectSetting setting_of_window() const {
    DirectSetting in_this_window = setting;
    in_this_window.staging_bytes = window->staging_bytes();
    return in_this_window;
  }
  DirectRule rule_of(const Exchange& exchange) const { return direct_rule(exchange, setting_of_window()); }
  // For data that `reader` reads there, which may share a core with this member or be far from it; or that all read.
  SharedCopy& copy_for(std::uint32_t reader) {
    const std::uint32_t members = window->size(), self = window->self();
    if (copies.size() != members) copies.resize(members);
    if (members == 2) return copies[1 - self];
    return copies[reader < members ? reader : self];
  }
  // Whether so many bytes that `reader` reads there get streaming stores. For everyone, the mean of all gains that were
  // measured counts.
  bool streams_for(std::uint32_t reader, std::size_t bytes, SharedCopy::Traffic traffic) {
    if (reader < window->size()) return copy_for(reader).streams(bytes, traffic);
    float gains = 0, measured = 0;
    for (const SharedCopy& copy : copies) {
      gains += copy.gain();
      measured += copy.gain() > 0 ? 1.0F : 0.0F;
    }
    return measured > 0 && SharedCopy::streams(bytes, traffic, gains / measured);
  }
  // Whether a member with so many bytes to give wants to make single copies in a call that may: all must agree, and
  // announce so. Who gives nothing saves no copy, and goes along.
  bool makes_single_copies(std::size_t bytes, SharedCopy::Traffic traffic) {
    if (bytes == 0 || setting.single_copy == SingleCopy::always) return true;
    const double copy_now = weighs_copies(window->size()) ? copy_for(everyone).seconds_per_byte(bytes, traffic) : 0;
    return window->plain_reads().pay(thresholds_of(setting).read_ratio_max, copy_now);
  }
  // Whether a call makes none in this turn even if they pay, so that they measure again: one of 64, on all members
  // alike, and whatever the rhythm of a program's calls.
  bool tries_copies(std::uint64_t of_turn) const {
    constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15;
    constexpr unsigned bits_of_64 = 6;
    return setting.single_copy != SingleCopy::always && weighs_copies(window->size()) &&
           of_turn * golden_ratio >> (64 - bits_of_64) == 0;
  }
  std::uint32_t& sequence(std::uint64_t of_turn) { return sequences[of_turn % direct::announcements]; }
};

}  // namespace hocket
